import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Budget } from "./budget.ts";
import { readSchema } from "./read-schema.ts";
import type { SchemaError } from "./site.ts";
import { schemaErrors } from "./validate.ts";

function errorsOf(schema: unknown, value: unknown): SchemaError[] {
  return schemaErrors(readSchema(schema), value, new Budget());
}

/** For each schema values that it allows, and values that it does not. */
const CASES: readonly (readonly [schema: unknown, allowed: readonly unknown[], refused: readonly unknown[]])[] = [
  [true, [1, null, {}], []],
  [false, [], [1, null, {}]],
  [{ type: "integer" }, [1, 1.0, -0], [1.5, "1", null, true]],
  [{ type: ["null", "object"] }, [null, {}], [[], "", 0]],
  [{ type: "array" }, [[]], [{}, null]],
  [{ enum: [1, { a: [1], b: 2 }, null] }, [1, { b: 2, a: [1] }, null], ["1", { a: [2], b: 2 }, {}]],
  [{ const: { a: 1 } }, [{ a: 1 }], [{ a: 1, b: 2 }, {}]],
  [{ const: null }, [null], [0, ""]],
  [{ minimum: 1, maximum: 3 }, [1, 2, 3, "0"], [0.9, 3.1]],
  [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [1.1, 2.9], [1, 3]],
  [{ multipleOf: 0.1 }, [0.3, 1, 0], [0.35]],
  [{ minLength: 2, maxLength: 3 }, ["ab", "😀😀", "😀😀😀", 1], ["a", "😀", "abcd"]],
  [{ pattern: "^a+$" }, ["aa", 5], ["b", ""]],
  [{ pattern: "" }, ["", "x"], []],
  [{ pattern: "a/b" }, ["a/b"], ["ab"]],
  [{ format: "date" }, ["2024-02-29", 5], ["2023-02-29", "2024-13-01", "24-01-01"]],
  [{ format: "date-time" }, ["2024-02-29T10:00:00Z", "2024-02-29t10:00:00.5+01:00"], ["2024-02-29", "2024-02-30T10:00:00Z"]],
  [{ format: "email" }, ["a.b@example.com"], ["a@", "a b@c.d", "@example.com"]],
  [{ format: "uuid" }, ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08aa9811eab4aa73b441d16380"]],
  [{ format: "ipv4" }, ["1.2.3.4"], ["1.2.3", "01.2.3.4", "256.1.1.1"]],
  [{ format: "uri" }, ["https://example.com/a"], ["/a", "a b:c"]],
  [{ format: "own-format" }, ["anything"], []],
  [{ items: { type: "number" } }, [[], [1, 2], {}], [[1, "2"]]],
  [{ prefixItems: [{ type: "string" }], items: false }, [[], ["a"]], [["a", 1], [1]]],
  [{ items: [{ type: "string" }], additionalItems: { type: "number" } }, [["a", 1]], [["a", "b"]]],
  [{ minItems: 1, maxItems: 2 }, [[1], [1, 2]], [[], [1, 2, 3]]],
  [
    { uniqueItems: true },
    [[1, "1", [1], { a: 1 }]],
    [
      [1, 1.0],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  [{ contains: { const: 1 } }, [[1, 2]], [[], [2]]],
  [{ contains: { const: 1 }, minContains: 2, maxContains: 2 }, [[1, 1]], [[1], [1, 1, 1]]],
  [{ required: ["a"] }, [{ a: null }, []], [{}, { b: 1 }]],
  [{ required: ["toString"] }, [{ toString: 1 }], [{}]],
  [{ properties: { a: { type: "number" }, b: false } }, [{}, { a: 1, c: 2 }], [{ a: "1" }, { b: 1 }]],
  [{ properties: { a: {} }, additionalProperties: false }, [{ a: 1 }], [{ a: 1, b: 2 }]],
  [
    { patternProperties: { "^x": { type: "number" } }, additionalProperties: { type: "string" } },
    [{ x1: 1, y: "z" }],
    [{ x1: "1" }, { y: 1 }],
  ],
  [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }], [{ abc: 1 }]],
  [{ minProperties: 1, maxProperties: 2 }, [{ a: 1 }], [{}, { a: 1, b: 2, c: 3 }]],
  [{ dependentRequired: { a: ["b"] } }, [{}, { a: 1, b: 2 }], [{ a: 1 }]],
  [{ dependentSchemas: { a: { required: ["b"] } } }, [{}, { a: 1, b: 2 }], [{ a: 1 }]],
  [{ dependencies: { a: ["b"], c: { required: ["d"] } } }, [{}, { a: 1, b: 2 }], [{ a: 1 }, { c: 1 }]],
  [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
  [{ anyOf: [{ type: "string" }, { minimum: 5 }] }, ["a", 5], [4]],
  [{ oneOf: [{ type: "integer" }, { minimum: 5 }] }, [1, 5.5], [6, 4.5]],
  [{ not: { type: "string" } }, [1], ["a"]],
  [{ if: { type: "string" }, then: { minLength: 2 }, else: { minimum: 5 } }, ["ab", 5], ["a", 4]],
  [{ $ref: "#/$defs/a", $defs: { a: { type: "number" } } }, [1], ["1"]],
  [{ $ref: "#/$defs/a~1b%25", $defs: { "a/b%": { type: "number" } } }, [1], ["1"]],
  [{ $ref: "#here", $defs: { a: { $anchor: "here", type: "number" } } }, [1], ["1"]],
  [{ $ref: "#/own/place", own: { place: { type: "number" } } }, [1], ["1"]],
  [{ properties: { child: { $ref: "#" } }, required: ["name"] }, [{ name: 1, child: { name: 2 } }], [{ name: 1, child: {} }]],
  [{ properties: { a: {} }, unevaluatedProperties: false }, [{ a: 1 }], [{ b: 1 }]],
  [
    { allOf: [{ properties: { a: {} } }], anyOf: [{ properties: { b: {} }, required: ["b"] }, true], unevaluatedProperties: false },
    [{ a: 1, b: 2 }, { a: 1 }],
    [{ a: 1, c: 3 }],
  ],
  [{ prefixItems: [true], unevaluatedItems: { type: "number" } }, [["a", 1]], [["a", "b"]]],
];

describe.each(CASES)("%j", (schema, allowed, refused) => {
  if (allowed.length > 0) test.each(allowed.map((value) => [value]))("allows %j", (value) => expect(errorsOf(schema, value)).toEqual([]));
  if (refused.length > 0)
    test.each(refused.map((value) => [value]))("refuses %j", (value) => expect(errorsOf(schema, value).length).toBeGreaterThan(0));
});

test("errors name the place, the keyword and what would be right", () => {
  const schema = { properties: { "a/b": { items: { type: "number" } } }, required: ["c"] };
  expect(errorsOf(schema, { "a/b": [1, "x", 2, null] })).toEqual([
    { instancePath: "", keyword: "required", message: 'must have the property "c"' },
    { instancePath: "/a~1b/1", keyword: "type", message: "must be number" },
    { instancePath: "/a~1b/3", keyword: "type", message: "must be number" },
  ]);
  expect(
    errorsOf(
      { items: { type: "number" } },
      Array.from({ length: 1_000 }, () => "x"),
    ),
  ).toHaveLength(20);
});

test("allOf is every, anyOf some, oneOf one, not none of what its schemas say", () => {
  const simple = fc.constantFrom(
    true,
    false,
    { type: "number" },
    { minimum: 3 },
    { maxLength: 1 },
    { enum: [1, "a"] },
    { required: ["a"] },
  );
  fc.assert(
    fc.property(fc.array(simple, { minLength: 1, maxLength: 4 }), fc.jsonValue(), (schemas, value) => {
      const passing = schemas.filter((schema) => errorsOf(schema, value).length === 0).length;
      expect(errorsOf({ allOf: schemas }, value).length === 0).toBe(passing === schemas.length);
      expect(errorsOf({ anyOf: schemas }, value).length === 0).toBe(passing > 0);
      expect(errorsOf({ oneOf: schemas }, value).length === 0).toBe(passing === 1);
      expect(errorsOf({ not: { anyOf: schemas } }, value).length === 0).toBe(passing === 0);
      expect(errorsOf({ const: value }, value)).toEqual([]);
    }),
  );
});

describe("a schema that would never end, or blows up, is an error in bounded time", () => {
  const doubling = {
    $ref: "#/$defs/d40",
    $defs: Object.fromEntries(
      Array.from({ length: 41 }, (_, index) => [
        `d${index}`,
        index === 0 ? {} : { allOf: [{ $ref: `#/$defs/d${index - 1}` }, { $ref: `#/$defs/d${index - 1}` }] },
      ]),
    ),
  };
  const listOfItself = { type: "array", items: { $ref: "#" } };
  const numbers = Array.from({ length: 20_000 }, (_, index) => index);
  let deep: unknown = 1;
  for (let level = 0; level < 199; level += 1) deep = [deep];

  test.each([
    ["a reference to itself", { $ref: "#" }, 1],
    ["references in a circle", { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { $ref: "#/$defs/a" } } }, 1],
    ["doubling references", doubling, 1],
    ["doubling at every level of the value", { anyOf: [listOfItself, listOfItself] }, deep],
    ["a long list of values for each item", { items: { enum: Array.from({ length: 5_000 }, (_, index) => `v${index}`) } }, numbers],
    [
      "large patterns over a long text",
      { allOf: Array.from({ length: 90 }, (_, index) => ({ pattern: `[ab]*a[ab]{${index + 200}}c` })) },
      "ab".repeat(30_000),
    ],
  ])("%s", (_name, schema, value) => {
    const started = performance.now();
    expect(() => errorsOf(schema, value)).toThrow(/takes too long|back to itself|can look at/);
    expect(performance.now() - started).toBeLessThan(3_000);
  });

  test("large values under plain schemas are not too much", () => {
    const row = { id: 1, name: "some name", tags: ["a", "b"] };
    const schema = {
      type: "array",
      uniqueItems: false,
      items: {
        type: "object",
        properties: { id: { type: "integer" }, name: { type: "string", pattern: "^[a-z ]+$" }, tags: { items: { type: "string" } } },
        required: ["id", "name"],
        additionalProperties: false,
      },
    };
    expect(
      errorsOf(
        schema,
        Array.from({ length: 20_000 }, () => row),
      ),
    ).toEqual([]);
  });
});
