// SPDX-License-Identifier: Apache-2.0
// Both sides of a recorded connection as a list of exchanges.

function parseHead(bytes, at) {
  const end = bytes.indexOf("\r\n\r\n", at);
  if (end < 0) return null;
  const [first, ...lines] = bytes.toString("latin1", at, end).split("\r\n");
  const headers = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { first, headers, body: end + 4 };
}

function readChunks(bytes, at) {
  const parts = [];
  for (;;) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return { body: Buffer.concat(parts), next: bytes.length, cut: true };
    const size = parseInt(bytes.toString("latin1", at, line), 16);
    if (size === 0) return { body: Buffer.concat(parts), next: bytes.indexOf("\r\n", line + 2) + 2 };
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}

function readBody(bytes, head, untilEnd) {
  if (/chunked/i.test(head.headers["transfer-encoding"] ?? ""))
    return readChunks(bytes, head.body);
  const length = head.headers["content-length"];
  if (length === undefined && !untilEnd) return { body: Buffer.alloc(0), next: head.body };
  const next = length === undefined ? bytes.length : head.body + Number(length);
  return { body: bytes.subarray(head.body, next), next, cut: next > bytes.length };
}

function readAnswer(bytes, at, method) {
  for (;;) {
    const head = parseHead(bytes, at);
    if (head === null) return null;
    const status = Number(head.first.split(" ")[1]);
    if (status < 200) {
      at = head.body; // 100: go on
      continue;
    }
    const bare = status === 204 || status === 304 || method === "HEAD";
    const rest = bare ? { body: Buffer.alloc(0), next: head.body } : readBody(bytes, head, true);
    return { status, headers: head.headers, ...rest };
  }
}

// What was not answered, or is no HTTP, ends the list.
export function exchanges(asked, answered) {
  const list = [];
  let ask = 0;
  let answer = 0;
  for (;;) {
    const head = parseHead(asked, ask);
    const words = head?.first.split(" ") ?? [];
    if (words.length !== 3 || !words[1].startsWith("/")) return list;
    const request = { method: words[0], target: words[1], headers: head.headers, ...readBody(asked, head, false) };
    const got = readAnswer(answered, answer, request.method);
    if (got === null) return list;
    list.push({ request, answer: got });
    ask = request.next;
    answer = got.next;
  }
}
