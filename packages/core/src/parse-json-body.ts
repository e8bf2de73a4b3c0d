import { GatewayError } from "./errors.ts";
import { deeperThan, isObject, type JsonObject, jsonOf, MAX_JSON_DEPTH } from "./json.ts";

/** The JSON object of a body. Throws invalid_json, saying what is wrong. */
export function parseJsonBody(body: Buffer): JsonObject {
  if (body.length === 0) throw new GatewayError("invalid_json", "The request has no body; expected a JSON object.");
  let value: unknown;
  try {
    value = jsonOf(body);
  } catch (cause) {
    const detail = cause instanceof SyntaxError ? syntaxHint(cause.message) : "";
    throw new GatewayError("invalid_json", `The request body is not valid JSON${detail}.`, { cause });
  }
  if (!isObject(value)) throw new GatewayError("invalid_json", "The request body must be a JSON object.");
  if (deeperThan(value, MAX_JSON_DEPTH))
    throw new GatewayError("invalid_json", `The request body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
  return value;
}

/** Where the parser stopped, without quoting the body: it may hold secrets. */
function syntaxHint(message: string): string {
  const position = /position (\d+)/.exec(message)?.[1];
  return position === undefined ? "" : ` (at byte ${position})`;
}
