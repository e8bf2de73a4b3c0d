/** Any JSON object. */
export type JsonObject = { [key: string]: unknown };

/** Whether a value is a JSON object (not null, not an array). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Deepest nesting a body may have. JSON.parse takes any depth; what walks the value afterwards would exhaust the stack,
 * JSON.stringify on some releases of Node among them: so nothing waits for a RangeError.
 */
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

/** The value of a JSON text. Throws SyntaxError when it is none, or nested deeper than MAX_JSON_DEPTH. */
export function boundedJson(text: string): unknown {
  return bounded(JSON.parse(text), text.length);
}

/** What `jsonOf` gives, of a body that nobody has bounded yet. Throws SyntaxError when it is nested deeper than MAX_JSON_DEPTH. */
export function boundedJsonOf(body: Buffer): unknown {
  return bounded(jsonOf(body), body.length);
}

/** A level takes two characters at least: what is shorter than the deepest allowed is not walked. */
function bounded(value: unknown, length: number): unknown {
  if (length > 2 * MAX_JSON_DEPTH && deeperThan(value, MAX_JSON_DEPTH))
    throw new SyntaxError(`JSON is nested deeper than ${MAX_JSON_DEPTH} levels`);
  return value;
}

/** A buffer of `value`'s JSON that remembers `value` as its parsed form. */
export function bufferOfJson(value: unknown): Buffer {
  const body: ParsedBuffer = Buffer.from(JSON.stringify(value));
  body[PARSED] = value;
  return body;
}
