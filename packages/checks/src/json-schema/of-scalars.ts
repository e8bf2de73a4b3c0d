import { canonical } from "./canonical.ts";
import { FORMATS } from "./formats.ts";
import { fail, type Site } from "./site.ts";

/** Of the size of a pattern times the characters it looks at, what counts as one step. */
const PATTERN_WORK_A_STEP = 8;

/** Keywords on the value as one thing: its type, enum, const, and those for numbers and texts. */
export function checkScalar(site: Site): boolean {
  const { value } = site;
  let valid = checkType(site);
  if (valid || site.errors !== null) valid = checkEnum(site) && valid;
  if (typeof value === "number" && (valid || site.errors !== null)) valid = checkNumber(site, value) && valid;
  if (typeof value === "string" && (valid || site.errors !== null)) valid = checkText(site, value) && valid;
  return valid;
}

/** Whether a text matches a pattern of the schema; what it may cost is counted. */
export function matchesPattern({ whole, budget }: Pick<Site, "whole" | "budget">, source: string, text: string): boolean {
  const pattern = whole.patterns.get(source);
  if (pattern === undefined) throw new Error("a pattern of the schema was not read");
  budget.spend(Math.ceil((pattern.size * text.length) / PATTERN_WORK_A_STEP));
  return pattern.matches(text);
}

function checkType(site: Site): boolean {
  const { type } = site.schema;
  if (type === undefined) return true;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  site.budget.spend(types.length);
  return types.some((one) => isOfType(site.value, one)) || fail(site, "type", `must be ${types.join(" or ")}`);
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function checkEnum(site: Site): boolean {
  const { schema, value, budget } = site;
  const { enum: allowed } = schema;
  let valid = true;
  if (Array.isArray(allowed)) {
    const own = canonical(value, budget);
    if (!allowed.some((one) => canonical(one, budget) === own)) valid = fail(site, "enum", "must be one of the listed values");
  }
  if (Object.hasOwn(schema, "const") && canonical(schema["const"], budget) !== canonical(value, budget))
    valid = fail(site, "const", "must be the one value that is named");
  return valid;
}

function checkNumber(site: Site, value: number): boolean {
  const { maximum, minimum, exclusiveMaximum, exclusiveMinimum, multipleOf } = site.schema;
  let valid = true;
  if (typeof maximum === "number" && value > maximum) valid = fail(site, "maximum", `must be at most ${maximum}`);
  if (typeof minimum === "number" && value < minimum) valid = fail(site, "minimum", `must be at least ${minimum}`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    valid = fail(site, "exclusiveMaximum", `must be below ${exclusiveMaximum}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    valid = fail(site, "exclusiveMinimum", `must be above ${exclusiveMinimum}`);
  if (typeof multipleOf === "number" && !isMultiple(value, multipleOf))
    valid = fail(site, "multipleOf", `must be a multiple of ${multipleOf}`);
  return valid;
}

/** Decimal fractions are not exact in binary: 0.3 is a multiple of 0.1. */
function isMultiple(value: number, of: number): boolean {
  const times = value / of;
  if (!Number.isFinite(times)) return false;
  return Math.abs(times - Math.round(times)) <= 1e-12 * Math.max(1, Math.abs(times));
}

function checkText(site: Site, value: string): boolean {
  const { maxLength, minLength, pattern, format } = site.schema;
  let valid = true;
  if (typeof maxLength === "number" && value.length > maxLength && lengthOf(site, value) > maxLength)
    valid = fail(site, "maxLength", `must have at most ${maxLength} characters`);
  if (typeof minLength === "number" && (value.length < minLength || lengthOf(site, value) < minLength))
    valid = fail(site, "minLength", `must have at least ${minLength} characters`);
  if (typeof pattern === "string" && !matchesPattern(site, pattern, value)) valid = fail(site, "pattern", "must match the pattern");
  if (typeof format === "string") {
    site.budget.spend(Math.ceil(value.length / 100));
    const fits = FORMATS.get(format);
    if (fits !== undefined && !fits(value)) valid = fail(site, "format", `must be a valid ${format}`);
  }
  return valid;
}

/** In characters as people count them: a pair of surrogates is one. */
function lengthOf({ budget }: Site, text: string): number {
  budget.spend(Math.ceil(text.length / 100));
  let length = 0;
  for (let index = 0; index < text.length; index += (text.codePointAt(index) ?? 0) > 0xff_ff ? 2 : 1) length += 1;
  return length;
}
