/** Any JSON object. */
export type JsonObject = { [key: string]: unknown };

/** Whether a value is a JSON object (not null, not an array). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Deepest nesting a body may have: deeper is refused before JSON.parse could exhaust the stack. */
export const MAX_JSON_DEPTH = 200;

/** Whether a value is nested deeper than so many levels. Never goes deeper itself. */
export function deeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object" && deeperThan(item, levels - 1)) return true;
    return false;
  }
  const object = value as JsonObject;
  for (const key in object) if (typeof object[key] === "object" && deeperThan(object[key], levels - 1)) return true;
  return false;
}

/** Where a buffer keeps its parsed form: a field costs a fraction of a WeakMap entry, which the collector has to visit. */
const PARSED = Symbol("parsed");
type ParsedBuffer = Buffer & { [PARSED]?: unknown };

/**
 * The parsed JSON of a body, parsed once per process however many ask: the buffer remembers it.
 * Nobody changes the result. Throws SyntaxError when it is not JSON.
 */
export function jsonOf(body: Buffer): unknown {
  const holder: ParsedBuffer = body;
  const known = holder[PARSED];
  if (known !== undefined) return known;
  const value: unknown = JSON.parse(body.toString("utf8"));
  holder[PARSED] = value;
  return value;
}

/** A buffer of `value`'s JSON that remembers `value` as its parsed form. */
export function bufferOfJson(value: unknown): Buffer {
  const body: ParsedBuffer = Buffer.from(JSON.stringify(value));
  body[PARSED] = value;
  return body;
}
