/** What a condition can look at: anything else in a body is neither equal to, nor above, nor in anything. */
export type Scalar = string | number | boolean | null;

/** Longest text that a condition looks at; a longer one counts as missing, never as its first part. */
export const MAX_SCALAR_TEXT = 65_536;

/** Whether `value` can be compared; a text that is too long cannot. */
export function isScalar(value: unknown): value is Scalar {
  if (typeof value === "string") return value.length <= MAX_SCALAR_TEXT;
  return typeof value === "number" || typeof value === "boolean" || value === null;
}

/**
 * The scalar at `steps` in a body, by own properties only; undefined when there is none. Objects and lists are none,
 * nor are texts over MAX_SCALAR_TEXT.
 */
export function paramValue(body: unknown, steps: readonly (string | number)[]): Scalar | undefined {
  let value = body;
  for (const step of steps) {
    if (typeof value !== "object" || value === null) return undefined;
    if (Array.isArray(value) ? !isIndex(step) : !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return isScalar(value) ? value : undefined;
}

function isIndex(step: string | number): boolean {
  return typeof step === "number" || /^\d+$/.test(step);
}
