/** Any JSON object. */
export type JsonObject = { [key: string]: unknown };

/** Whether a value is a JSON object (not null, not an array). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Deepest nesting a body may have: deeper is refused before JSON.parse could exhaust the stack. */
export const MAX_JSON_DEPTH = 200;

const parsed = new WeakMap<Buffer, unknown>();

/**
 * The parsed JSON of a body, parsed once per process however many ask: the buffer is the key.
 * Nobody changes the result. Throws SyntaxError when it is not JSON.
 */
export function jsonOf(body: Buffer): unknown {
  const known = parsed.get(body);
  if (known !== undefined) return known;
  const value: unknown = JSON.parse(body.toString("utf8"));
  parsed.set(body, value);
  return value;
}

/** A buffer of `value`'s JSON whose parsed form is remembered as `value`. */
export function bufferOfJson(value: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(value));
  parsed.set(body, value);
  return body;
}
