import { isObject } from "@unigate/core";

/** A JSON schema: true = anything, false = nothing. */
export type Schema = boolean | { readonly [keyword: string]: unknown };

const TYPES = ["null", "boolean", "object", "array", "number", "integer", "string"] as const;

/** Keywords that hold one schema. */
export const WITH_SCHEMA: readonly string[] = [
  "additionalItems",
  "additionalProperties",
  "contains",
  "else",
  "if",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
];

/** Keywords that hold a list of schemas. */
export const WITH_LIST: readonly string[] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/** Keywords that hold schemas by name. */
export const WITH_NAMED: readonly string[] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/** Keywords that would reach beyond the schema, or change what its references mean. */
export const REFUSED: readonly string[] = ["$dynamicRef", "$recursiveRef"];

/** What keywords look at, so that a schema's are looked for only where they may be. */
export interface Groups {
  readonly scalar: boolean;
  readonly array: boolean;
  readonly object: boolean;
  readonly combined: boolean;
}

const OF_SCALARS = new Set([
  "const",
  "enum",
  "exclusiveMaximum",
  "exclusiveMinimum",
  "format",
  "maxLength",
  "maximum",
  "minLength",
  "minimum",
  "multipleOf",
  "pattern",
  "type",
]);
const OF_ARRAYS = new Set(["contains", "items", "maxItems", "minItems", "prefixItems", "uniqueItems"]);
const OF_OBJECTS = new Set([
  "additionalProperties",
  "dependencies",
  "dependentRequired",
  "maxProperties",
  "minProperties",
  "patternProperties",
  "properties",
  "propertyNames",
  "required",
]);
const COMBINED = new Set(["$ref", "allOf", "anyOf", "dependencies", "dependentSchemas", "if", "not", "oneOf"]);

/** The groups that a schema has keywords of. */
export function groupsOf(schema: object): Groups {
  const keywords = Object.keys(schema);
  return {
    scalar: keywords.some((keyword) => OF_SCALARS.has(keyword)),
    array: keywords.some((keyword) => OF_ARRAYS.has(keyword)),
    object: keywords.some((keyword) => OF_OBJECTS.has(keyword)),
    combined: keywords.some((keyword) => COMBINED.has(keyword)),
  };
}

interface Form {
  readonly expected: string;
  fits(value: unknown): boolean;
}

const number: Form = { expected: "a number", fits: (value) => Number.isFinite(value) };
const count: Form = { expected: "a whole number of 0 or more", fits: (value) => Number.isInteger(value) && (value as number) >= 0 };
const text: Form = { expected: "a text", fits: (value) => typeof value === "string" };
const names: Form = { expected: "an array of texts", fits: isNames };

/** What the value of a keyword that holds no schema must be. Keywords that are not known say nothing. */
export const FORMS: Readonly<Record<string, Form>> = {
  $anchor: text,
  $ref: text,
  enum: { expected: "an array", fits: Array.isArray },
  exclusiveMaximum: number,
  exclusiveMinimum: number,
  format: text,
  maxContains: count,
  maxItems: count,
  maxLength: count,
  maxProperties: count,
  maximum: number,
  minContains: count,
  minItems: count,
  minLength: count,
  minProperties: count,
  minimum: number,
  multipleOf: { expected: "a number above 0", fits: (value) => Number.isFinite(value) && (value as number) > 0 },
  pattern: text,
  required: names,
  dependentRequired: {
    expected: "an object of arrays of texts",
    fits: (value) => isObject(value) && Object.values(value).every(isNames),
  },
  type: {
    expected: `${TYPES.join(", ")}, or an array of them`,
    fits: (value) => (Array.isArray(value) ? value.length > 0 && value.every(isType) : isType(value)),
  },
  uniqueItems: { expected: "true or false", fits: (value) => typeof value === "boolean" },
};

export function isSchema(value: unknown): value is Schema {
  return typeof value === "boolean" || isObject(value);
}

export function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function isType(value: unknown): boolean {
  return TYPES.some((type) => type === value);
}
