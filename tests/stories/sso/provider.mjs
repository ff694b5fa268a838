// SPDX-License-Identifier: Apache-2.0
// provider.mjs FILE: an identity provider on loopback.  Writes its issuer to
// FILE.  Whoever comes to its login page is `who`, which GET /as?... sets;
// GET /logout?uri=&sub=&sid= sends a logout token there.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const keys = [];
for (const alg of ['RS256', 'ES256', 'EdDSA']) {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  keys.push({ ...(await exportJWK(privateKey)), alg, use: 'sig', kid: alg });
}

let who = { sub: 's-0' };

const provider = new Provider(issuer, {
  jwks: { keys },
  clients: keys.map(({ alg }) => ({
    client_id: `bulkhead-${alg}`,
    client_secret: 'a secret of the client: 0123456789',
    redirect_uris: ['http://127.0.0.1/callback'],
    application_type: 'native',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    id_token_signed_response_alg: alg,
    token_endpoint_auth_method: 'client_secret_basic',
    backchannel_logout_uri: `${issuer}/nowhere`,
    backchannel_logout_session_required: true,
  })),
  acrValues: ['pwd', 'mfa'],
  claims: {
    openid: ['sub', 'sid'],
    profile: ['name', 'preferred_username', 'email'],
    groups: ['groups'],
    acr: null, auth_time: null,
  },
  scopes: ['openid', 'profile', 'groups'],
  // CONFORM=1: claims are at the userinfo endpoint alone.
  conformIdTokenClaims: process.env.CONFORM === '1',
  enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'EdDSA'] },
  features: {
    devInteractions: { enabled: false },
    backchannelLogout: { enabled: true },
  },
  // It asks no loopback addresses of its own accord.
  fetch: (to, { dispatcher, ...options }) => fetch(to, options),
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (ctx, sub) => ({
    accountId: sub,
    claims: () => ({
      sub, name: who.name, preferred_username: who.name,
      email: who.email, groups: who.groups,
    }),
  }),
});

async function consent(details) {
  const { params, session } = details;
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope('openid profile groups');
  return { consent: { grantId: await grant.save() } };
}

const answer = provider.callback();
server.on('request', async (req, res) => {
  const url = new URL(req.url, issuer);
  try {
    if (url.pathname === '/as') {
      who = JSON.parse(url.searchParams.get('who'));
      res.end('ok');
    } else if (url.pathname === '/logout') {
      const client = await provider.Client.find(url.searchParams.get('client'));
      client.backchannelLogoutUri = url.searchParams.get('uri');
      const sid = url.searchParams.get('sid');
      client.backchannelLogoutSessionRequired = sid !== null;
      await client.backchannelLogout(url.searchParams.get('sub'), sid);
      res.end('ok');
    } else if (url.pathname.startsWith('/interaction/')) {
      const details = await provider.interactionDetails(req, res);
      const result = details.prompt.name === 'login'
        ? { login: { accountId: who.sub, acr: who.acr, amr: [] } }
        : await consent(details);
      await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: true });
    } else {
      answer(req, res);
    }
  } catch (error) {
    console.error(error);
    res.statusCode = 500;
    res.end(String(error));
  }
});
writeFileSync(process.argv[2], issuer);
