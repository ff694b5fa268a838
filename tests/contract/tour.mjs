// SPDX-License-Identifier: Apache-2.0
// tour.mjs DOCUMENT SOCKET SECRET: asks for every operation of the document at
// least once, of a control plane of its own.  Paths, bodies and order follow
// from the document, so a new operation is on the tour by itself.  What is
// refused is an answer as well: the document has to describe it.  Prints the
// operations that were carried out.
import { readFileSync } from "node:fs";
import { request } from "node:http";

const [documentPath, socketPath, secretPath] = process.argv.slice(2);
const document = JSON.parse(readFileSync(documentPath, "utf8"));
const password = "correct horse battery";
const ids = {}; // of what was made last, by the name of its path parameter
const idsAt = {}; // and by the collection that it is in
let token;
let serial = 0;

function ask(method, path, body, type = "application/json") {
  const text = body === undefined ? undefined : type.endsWith("json") ? JSON.stringify(body) : String(new URLSearchParams(body));
  const headers = { Host: "bulkhead" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (text !== undefined) Object.assign(headers, { "Content-Type": type, "Content-Length": Buffer.byteLength(text) });
  if (method === "PATCH") headers["If-Match"] = "*";
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method, path, headers, agent: false, timeout: 20000 }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => {
        let value = {};
        try {
          value = JSON.parse(Buffer.concat(parts).toString());
        } catch {
          // not every answer is JSON
        }
        resolve({ status: answer.statusCode, body: value });
      });
    });
    asked.on("error", reject);
    asked.on("timeout", () => asked.destroy(new Error(`${method} ${path}: no answer`)));
    asked.end(text);
  });
}

function resolveSchema(schema) {
  if (!schema?.$ref) return schema ?? {};
  return resolveSchema(schema.$ref.split("/").slice(1).reduce((at, key) => at[key], document));
}

const known = {
  password: () => password,
  role: () => "developer",
  subject: () => ids.user,
  secret: () => "none",
  image: () => "demo",
  vendor: () => "simulated",
};

function value(name, raw) {
  const schema = resolveSchema(raw);
  const types = [schema.type ?? "string"].flat();
  if (name === "name") return `tour-${++serial}`;
  if (known[name]) return known[name]();
  if (ids[name]) return ids[name];
  if (schema.enum) return schema.enum.find((one) => one !== null);
  if (types.includes("integer")) return Math.max(schema.minimum ?? 1, 1);
  if (types.includes("boolean")) return true;
  if (types.includes("array")) return schema.items?.enum ? [schema.items.enum[0]] : ["project.get"];
  if (types.includes("object")) return Object.fromEntries((schema.required ?? []).map((each) => [each, value(each, schema.properties[each])]));
  if (schema.format === "date-time") return "2031-01-01T00:00:00Z";
  return "text";
}

function makeBody(operation, method) {
  const content = operation.requestBody?.content;
  if (!content) return undefined;
  const schema = resolveSchema((content["application/json"] ?? Object.values(content)[0]).schema);
  const names = Object.keys(schema.properties ?? {});
  const wanted = method === "PATCH" ? names.filter((name) => name !== "state").slice(0, 1) : [...(schema.required ?? []), ...(schema.anyOf?.[0].required ?? [])];
  const body = Object.fromEntries(wanted.map((name) => [name, value(name, schema.properties[name])]));
  if (method === "POST" && names.includes("name")) body.name = value("name", {});
  return names.length === 0 && !operation.requestBody.required ? undefined : body;
}

function typeOf(operation) {
  const types = Object.keys(operation.requestBody?.content ?? {});
  return types.length === 0 || types.includes("application/json") ? "application/json" : types[0];
}

function fillPath(path) {
  let filled = "";
  for (const segment of path.split("/").slice(1)) {
    const name = segment.match(/^{(\w+?)(_below)?}$/)?.[1];
    filled += `/${name ? (idsAt[filled] ?? ids[name] ?? "none") : segment}`;
  }
  return filled;
}

const query = { verb: "project.get", object: () => ids.project, names: "1" };

function fillQuery(operation) {
  const needed = (operation.parameters ?? []).filter((one) => one.in === "query" && one.name in query);
  const pairs = needed.map((one) => [one.name, typeof query[one.name] === "function" ? query[one.name]() : query[one.name]]);
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs.filter(([, text]) => text))}`;
}

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([, operation]) => operation.responses)
    .map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

// What others lie below comes first, and goes last.
function place({ path, method }) {
  const depth = path.split("/").length;
  if (path.endsWith("/logout")) return 9000;
  if (method === "POST" && /\/(ceilings|denies)$/.test(path)) return 2500; // they take rights away
  return { POST: 0, GET: 1000, PATCH: 2000, DELETE: 3000 }[method] + (method === "DELETE" ? 100 - depth : depth);
}
operations.sort((a, b) => place(a) - place(b));

async function logIn() {
  const secret = readFileSync(secretPath, "utf8").trim();
  await ask("POST", "/api/v1/first-admin", { secret, name: "root", password });
  const answer = await ask("POST", "/api/v1/login", { name: "root", password });
  token = answer.body.token;
}

// The kind of what a collection makes is the parameter behind it.
function remember(path, answer) {
  const item = Object.keys(document.paths).find((one) => one.startsWith(`${path}/{`) && !one.slice(path.length + 1).includes("/"));
  const name = item?.match(/{(\w+?)(_below)?}$/)?.[1];
  if (name && answer.status === 201) ids[name] = idsAt[fillPath(path)] = answer.body.id;
}

await logIn();
let done = 0;
for (const { path, method, operation } of operations) {
  const answer = await ask(method, fillPath(path) + fillQuery(operation), makeBody(operation, method), typeOf(operation));
  if (method === "POST") remember(path, answer);
  if (answer.status < 300) done++;
  else if (process.env.TOUR_REFUSED) console.log(`${method} ${fillPath(path)}: ${answer.status} ${answer.body.detail ?? ""}`);
}
console.log(`tour: ${operations.length} operations asked, ${done} carried out`);
