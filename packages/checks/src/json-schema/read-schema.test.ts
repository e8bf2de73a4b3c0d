import { describe, expect, test } from "vitest";
import { CheckParameterError } from "../define.ts";
import { readSchema } from "./read-schema.ts";

function nested(levels: number): object {
  let schema: object = {};
  for (let level = 1; level < levels; level += 1) schema = { not: schema };
  return schema;
}

describe("a schema that cannot be used is refused, naming the place", () => {
  test.each([
    [undefined, "schema: expected a JSON schema"],
    [[], "schema: expected a JSON schema"],
    ["{}", "schema: expected a JSON schema"],
    [{ type: "text" }, "schema.type: expected null, boolean"],
    [{ type: [] }, "schema.type: expected null, boolean"],
    [{ properties: { a: { maximum: "5" } } }, "schema.properties.a.maximum: expected a number"],
    [{ exclusiveMinimum: true }, "schema.exclusiveMinimum: expected a number"],
    [{ multipleOf: 0 }, "schema.multipleOf: expected a number above 0"],
    [{ maxLength: -1 }, "schema.maxLength: expected a whole number"],
    [{ required: "a" }, "schema.required: expected an array of texts"],
    [{ enum: "a" }, "schema.enum: expected an array"],
    [{ uniqueItems: 1 }, "schema.uniqueItems: expected true or false"],
    [{ items: 5 }, "schema.items: expected a JSON schema"],
    [{ items: [{}, 5] }, "schema.items[1]: expected a JSON schema"],
    [{ allOf: [] }, "schema.allOf: expected an array of schemas"],
    [{ anyOf: {} }, "schema.anyOf: expected an array of schemas"],
    [{ properties: [] }, "schema.properties: expected an object of schemas"],
    [{ properties: { a: null } }, "schema.properties.a: expected a JSON schema"],
    [{ dependentRequired: { a: "b" } }, "schema.dependentRequired: expected an object of arrays"],
    [{ pattern: "(?=a)" }, "schema.pattern: expected a valid pattern without lookahead"],
    [{ pattern: "(a)\\1" }, "schema.pattern: expected a valid pattern"],
    [{ pattern: "(a{1,30}){1,30}(b{1,30}){1,30}" }, "schema.pattern: expected a pattern with smaller counted repeats"],
    [{ patternProperties: { "(": {} } }, "schema.patternProperties.(: expected a valid pattern"],
    [{ $ref: "https://example.com/schema.json" }, "schema.$ref: expected a reference to a schema within the schema"],
    [{ $ref: "other.json#/a" }, "schema.$ref: expected a reference"],
    [{ $ref: "file:///etc/passwd" }, "schema.$ref: expected a reference"],
    [{ $ref: "#/nowhere" }, "schema.$ref: expected a reference"],
    [{ $ref: "#/__proto__" }, "schema.$ref: expected a reference"],
    [{ $ref: "#nowhere" }, "schema.$ref: expected a reference"],
    [{ $ref: "#/%" }, "schema.$ref: expected a reference"],
    [{ $ref: "#/a", a: { type: "text" } }, "schema(#/a).type: expected null"],
    [{ $dynamicRef: "#a" }, "schema.$dynamicRef: expected $ref instead"],
    [{ $defs: { a: { $id: "b" } } }, "schema.$defs.a.$id: expected one $id only"],
    [{ $defs: { a: { $anchor: "x" }, b: { $anchor: "x" } } }, "$anchor: expected a name that no other"],
    [nested(200), "schema: expected at most 100 levels"],
    [{ description: "x".repeat(200_000) }, "schema: expected at most 131072 characters"],
    [{ anyOf: Array.from({ length: 101 }, (_, index) => ({ pattern: `a${index}` })) }, "schema: expected at most 100 patterns"],
  ])("%j", (schema, message) => {
    expect(() => readSchema(schema)).toThrow(CheckParameterError);
    expect(() => readSchema(schema)).toThrow(message);
  });
});

test.each([
  true,
  false,
  {},
  {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://example.com/a",
    $ref: "https://example.com/a#/$defs/b",
    $defs: { b: {} },
  },
  { title: "x", "x-own": { type: "anything" }, default: { type: 5 } },
  { properties: { $ref: { type: "string" } } },
  { $ref: "#" },
])("%j is read", (schema) => {
  expect(readSchema(schema).root).toBe(schema);
});
