const NUMERIC = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;
/** The longest text that is read as a number. */
const MAX_LENGTH = 100;

/** A number, or text that is wholly one ("5", " -1.5e3 "); null for anything else: "5 apples", "", true, "0x10". */
export function numberOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.length > MAX_LENGTH || !NUMERIC.test(value)) return null;
  return Number(value);
}
