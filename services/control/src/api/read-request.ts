import { GatewayError, isObject, type JsonObject, parseJsonBody } from "@unigate/core";
import { below } from "../declared/problem.ts";
import { invalidField } from "./read-fields.ts";

const MAX_BODY_BYTES = 2 * 1024 * 1024;
/** Of one list or map: beyond it a check of each would take too long. */
const MAX_ITEMS = 10_000;

/** The path without the query, and the query by name. A name that is given twice, or no percent-encoding, is refused. */
export function readPath(pathAndQuery: string): { readonly segments: readonly string[]; readonly query: JsonObject } {
  const mark = pathAndQuery.indexOf("?");
  const path = mark < 0 ? pathAndQuery : pathAndQuery.slice(0, mark);
  const query: JsonObject = {};
  for (const [name, value] of new URLSearchParams(mark < 0 ? "" : pathAndQuery.slice(mark))) {
    if (name === "__proto__" || name in query) throw invalidField(name, "expected once in the query");
    query[name] = value;
  }
  const segments = path.replace(/\/$/, "").split("/").slice(1);
  return { segments: segments.map(decoded), query };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new GatewayError("invalid_request", "The path is not valid percent-encoding.");
  }
}

/** The JSON object of a body, within bounds; no body says nothing. Throws body_too_large, invalid_json or invalid_request. */
export function readBody(body: Buffer): JsonObject {
  if (body.length > MAX_BODY_BYTES) throw new GatewayError("body_too_large", `The request body is larger than ${MAX_BODY_BYTES} bytes.`);
  if (body.length === 0) return {};
  const json = parseJsonBody(body);
  refuseLarge(json, "");
  return json;
}

function refuseLarge(value: unknown, path: string): void {
  if (Array.isArray(value)) {
    if (value.length > MAX_ITEMS) throw invalidField(path, `expected at most ${MAX_ITEMS} items`);
    value.forEach((item, index) => refuseLarge(item, below(path, index)));
  } else if (isObject(value)) {
    const names = Object.keys(value);
    if (names.length > MAX_ITEMS) throw invalidField(path, `expected at most ${MAX_ITEMS} fields`);
    for (const name of names) {
      if (name === "__proto__") throw invalidField(below(path, name), "this name is not allowed");
      refuseLarge(value[name], below(path, name));
    }
  }
}
