// SPDX-License-Identifier: Apache-2.0
// validate.mjs DOCUMENT TRAFFIC...: is every recorded exchange as the OpenAPI
// document says?  Of each answer: its status, its media type, its body by the
// schema, and no member that the schema does not name.  Of each request that
// was carried out: its parameters and its body.  Prints each difference once,
// what was not exercised (a failure too: the tour asks for everything), and
// "N passed, N failed" in operations.
import { readFileSync } from "node:fs";
import Ajv from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { exchanges } from "./http.mjs";

const [documentPath, ...files] = process.argv.slice(2);
const document = JSON.parse(readFileSync(documentPath, "utf8"));

// Clients must bear members they do not know; here each one is a gap in the
// document.
function close(schema) {
  if (schema === null || typeof schema !== "object") return schema;
  if (Array.isArray(schema)) return schema.map(close);
  const closed = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, close(value)]));
  if (schema.properties && typeof schema.properties === "object" && schema.additionalProperties === undefined && schema.type === "object")
    closed.additionalProperties = false;
  return closed;
}

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true });
formats(ajv);
ajv.addSchema({ $id: "file:///openapi", components: close(document.components) });
const compiled = new Map();

function differences(schema, value) {
  const text = JSON.stringify(close(schema)).replaceAll('"#/components', '"file:///openapi#/components');
  if (!compiled.has(text)) compiled.set(text, ajv.compile(JSON.parse(text)));
  const check = compiled.get(text);
  if (check(value)) return [];
  return check.errors.map((error) => {
    const extra = error.params.additionalProperty ?? error.params.pattern ?? error.params.format ?? error.params.type ?? "";
    return `${error.instancePath.replace(/\/\d+/g, "/N")} ${error.message} ${extra}`;
  });
}

const operations = [];
for (const [path, item] of Object.entries(document.paths))
  for (const [method, operation] of Object.entries(item))
    if (operation.responses)
      operations.push({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        segments: path.split("/"),
        operation,
        seen: 0,
        found: new Map(),
      });

// A literal segment goes before a parameter.
function weight(segments) {
  return segments.map((segment) => (segment.startsWith("{") ? "1" : "0")).join("");
}
operations.sort((a, b) => weight(a.segments).localeCompare(weight(b.segments)));

function find(method, path) {
  const segments = path.split("/");
  return operations.find(
    (one) =>
      one.method === method &&
      one.segments.length === segments.length &&
      one.segments.every((segment, i) => segment.startsWith("{") ? segments[i] !== "" : segment === segments[i]),
  );
}

function note(one, text) {
  one.found.set(text, (one.found.get(text) ?? 0) + 1);
}

function mediaType(headers) {
  return (headers["content-type"] ?? "").split(";")[0].trim();
}

function checkBody(one, what, content, type, body) {
  if (content === undefined) {
    if (body.length > 0) note(one, `${what}: a body of ${type} that is not described`);
    return;
  }
  if (content[type] === undefined) return note(one, `${what}: ${type || "no media type"} is not described`);
  if (!type.endsWith("json") || content[type].schema === undefined) return undefined;
  let value;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    return note(one, `${what}: no JSON`);
  }
  for (const text of differences(content[type].schema, value)) note(one, `${what}: ${text}`);
  return undefined;
}

// A trial says what would be answered, in an envelope of its own.
function isTrial(request) {
  return new URLSearchParams(request.target.split("?")[1] ?? "").get("dry_run") === "1";
}

function checkRequest(one, request) {
  const { parameters = [], requestBody } = one.operation;
  const named = (place) => new Map(parameters.filter((p) => p.in === place).map((p) => [p.name, p]));
  const query = named("query");
  for (const [name] of new URLSearchParams(request.target.split("?")[1] ?? ""))
    if (!query.has(name)) note(one, `request: the query parameter ${name} is not described`);
  for (const [name, parameter] of named("header"))
    if (parameter.required && request.headers[name.toLowerCase()] === undefined)
      note(one, `request: ${name} is required, but it went without`);
  if (request.body.length > 0 || requestBody?.required)
    checkBody(one, "request", requestBody?.content, mediaType(request.headers), request.body);
}

const unknown = { name: "no such operation", found: new Map(), seen: 0 };
let count = 0;

function checkExchange({ request, answer }) {
  const path = decodeURI(request.target.split("?")[0]);
  const one = find(request.method === "HEAD" ? "GET" : request.method, path); // HEAD is GET without the body
  count++;
  if (one === undefined) {
    unknown.seen++;
    if (answer.status < 400 && request.method !== "OPTIONS") note(unknown, `${request.method} ${path} gave ${answer.status}`);
    return;
  }
  one.seen++;
  if (answer.cut || request.cut) return;
  if (answer.status < 300) checkRequest(one, request);
  const trial = answer.status < 300 && isTrial(request);
  const responses = one.operation.responses;
  const response = (trial ? responses["200"] : responses[String(answer.status)]) ?? (answer.status >= 400 ? responses.default : undefined);
  if (response === undefined) return note(one, `${answer.status} is not described`);
  if (request.method === "HEAD") return;
  checkBody(one, String(answer.status), response.content, mediaType(answer.headers), answer.body);
}

for (const file of files)
  for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    const { asked, answered } = JSON.parse(line);
    exchanges(Buffer.from(asked, "base64"), Buffer.from(answered, "base64")).forEach(checkExchange);
  }

const failed = [...operations, unknown].filter((one) => one.found.size > 0);
for (const one of failed) {
  console.log(`--- ${one.name}`);
  for (const [text, times] of one.found) console.log(`    ${times}x ${text}`);
}
for (const one of operations.filter((each) => each.seen === 0)) {
  console.log(`not exercised: ${one.name}`);
  failed.push(one);
}
const seen = operations.filter((one) => one.seen > 0).length;
console.log(`${count} exchanges, ${seen} of ${operations.length} operations exercised`);
if (count === 0) failed.push(unknown);
console.log(`${operations.length - failed.filter((one) => one !== unknown).length} passed, ${failed.length} failed`);
process.exit(failed.length > 0 ? 1 : 0);
