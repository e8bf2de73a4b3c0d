import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject, type JsonObject } from "../json.ts";
import { planConfig } from "../plan/plan.ts";
import { viewOf } from "../plan/plan-view.fixture.ts";
import { type Asked, compiledConfig, configOf, factsOf, holds } from "./conditions.fixture.ts";

/** The body has a value of each kind; `params.missing` and `params.list` have none that can be compared. */
const BODY = { text: "gpt-4o", number: 5, digits: "5", on: true, none: null, list: [1], empty: "" };

describe("operators", () => {
  test.each<[query: unknown, expected: boolean]>([
    [{ "params.text": "gpt-4o" }, true],
    [{ "params.text": "gpt-4" }, false],
    [{ "params.text": { $eq: "gpt-4o" } }, true],
    [{ "params.number": 5 }, true],
    [{ "params.number": "5" }, false],
    [{ "params.digits": 5 }, false],
    [{ "params.on": true }, true],
    [{ "params.on": "true" }, false],
    [{ "params.on": 1 }, false],
    [{ "params.none": null }, true],
    [{ "params.missing": null }, false],
    [{ "params.list": null }, false],
    [{ "params.empty": "" }, true],

    [{ "params.text": { $ne: "gpt-4" } }, true],
    [{ "params.text": { $ne: "gpt-4o" } }, false],
    [{ "params.number": { $ne: "5" } }, true],
    [{ "params.missing": { $ne: "x" } }, true],
    [{ "params.missing": { $ne: null } }, true],
    [{ "params.none": { $ne: null } }, false],
    [{ "params.list": { $ne: 1 } }, true],

    [{ "params.number": { $gt: 4 } }, true],
    [{ "params.number": { $gt: 5 } }, false],
    [{ "params.number": { $gte: 5 } }, true],
    [{ "params.number": { $lt: 5 } }, false],
    [{ "params.number": { $lt: 5.5 } }, true],
    [{ "params.number": { $lte: 5 } }, true],
    [{ "params.number": { $lte: "5" } }, true],
    [{ "params.digits": { $gt: 4.5 } }, true],
    [{ "params.digits": { $lt: "1e1" } }, true],
    [{ "params.text": { $gt: 0 } }, false],
    [{ "params.text": { $lte: 0 } }, false],
    [{ "params.on": { $gt: 0 } }, false],
    [{ "params.none": { $gte: 0 } }, false],
    [{ "params.empty": { $gte: 0 } }, false],
    [{ "params.missing": { $lt: 1 } }, false],
    [{ "params.missing": { $gte: 0 } }, false],

    [{ "params.text": { $in: ["x", "gpt-4o"] } }, true],
    [{ "params.text": { $in: ["x"] } }, false],
    [{ "params.number": { $in: ["5", 6] } }, false],
    [{ "params.none": { $in: [null] } }, true],
    [{ "params.missing": { $in: [null, "x"] } }, false],
    [{ "params.text": { $in: [] } }, false],
    [{ "params.text": { $nin: ["x"] } }, true],
    [{ "params.text": { $nin: ["gpt-4o"] } }, false],
    [{ "params.missing": { $nin: ["x"] } }, true],
    [{ "params.text": { $nin: [] } }, true],

    [{ "params.text": { $regex: "^gpt-\\d" } }, true],
    [{ "params.text": { $regex: "4" } }, true],
    [{ "params.text": { $regex: "GPT" } }, false],
    [{ "params.text": { $regex: "(?i)GPT" } }, true],
    [{ "params.number": { $regex: "5" } }, false],
    [{ "params.missing": { $regex: "" } }, false],
    [{ "params.empty": { $regex: "^$" } }, true],

    [{ "params.number": { $gt: 4, $lt: 6 } }, true],
    [{ "params.number": { $gt: 4, $lt: 5 } }, false],
    [{ "params.text": { $regex: "^gpt", $ne: "gpt-4o" } }, false],
    [{ "params.text": { $regex: "^gpt", $nin: ["gpt-3"] } }, true],

    [{}, true],
    [{ "params.text": "gpt-4o", "params.number": 5 }, true],
    [{ "params.text": "gpt-4o", "params.number": 6 }, false],
    [{ $and: [{ "params.text": "gpt-4o" }, { "params.number": 5 }] }, true],
    [{ $and: [{ "params.text": "gpt-4o" }, { "params.number": 6 }] }, false],
    [{ $or: [{ "params.text": "x" }, { "params.number": 5 }] }, true],
    [{ $or: [{ "params.text": "x" }, { "params.number": 6 }] }, false],
    [{ $or: [{ "params.number": 5 }], "params.text": "x" }, false],
    [{ "params.text": "x", $or: [{ "params.number": 5 }] }, false],
    [{ $or: [{ "params.number": 5 }], $and: [{ "params.text": "x" }] }, false],
    [{ $or: [{ $and: [{ "params.on": true }, { $or: [{ "params.none": null }] }] }, { "params.text": "x" }] }, true],
  ])("%j: %s", (query, expected) => {
    expect(holds(query, { body: BODY })).toBe(expected);
  });
});

describe("fields", () => {
  const asked: Asked = {
    metadata: { tier: "paid", "a.b": "dotted", a: "short", level: "5" },
    body: { model: "m", messages: [{ role: "user", parts: [{ type: "text" }] }], metadata: { tier: "body" } },
    headers: { "x-tier": "gold", "x-gateway-region": "eu" },
  };
  test.each<[query: unknown, expected: boolean]>([
    [{ "metadata.tier": "paid" }, true],
    [{ "metadata.a.b": "dotted" }, true],
    [{ "metadata.a": "short" }, true],
    [{ "metadata.a.c": { $ne: "x" } }, true],
    [{ "metadata.a.c": "short" }, false],
    [{ "metadata.level": 5 }, false],
    [{ "metadata.level": "5" }, true],
    [{ "metadata.level": { $gte: 5 } }, true],
    [{ "params.metadata.tier": "body" }, true],
    [{ "params.messages[0].role": "user" }, true],
    [{ "params.messages.0.role": "user" }, true],
    [{ "params.messages[0].parts[0].type": "text" }, true],
    [{ "params.messages[1].role": "user" }, false],
    [{ "url.pathname": "/v1/chat/completions" }, true],
    [{ "url.pathname": { $regex: "/completions$" } }, true],
    [{ "url.pathname": "/chat/completions" }, false],
    [{ "headers.x-tier": "gold" }, true],
    [{ "headers.X-Tier": "gold" }, true],
    [{ "headers.x-portkey-region": "eu" }, true],
    [{ "headers.x-other": { $ne: "gold" } }, true],
  ])("%j: %s", (query, expected) => {
    expect(holds(query, asked)).toBe(expected);
  });

  test.each(["metadata.constructor", "metadata.toString", "params.constructor", "params.__proto__.a", "headers.constructor"])(
    "%s is not what every object has",
    (field) => {
      for (const operator of [{ $regex: "" }, { $gte: 0 }, { $in: ["", null] }])
        expect(holds({ [field]: operator }, { body: {} })).toBe(false);
      expect(holds({ [field]: { $ne: "x" } }, { body: {} })).toBe(true);
    },
  );

  test("keys that would change a prototype are ordinary ones", () => {
    const query: unknown = JSON.parse('{"params.__proto__.admin": true, "metadata.__proto__": {"$ne": "x"}}');
    expect(holds(query, { body: JSON.parse('{"__proto__": {"admin": true}}') })).toBe(true);
    expect(holds(query, { body: {} })).toBe(false);
    expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
  });

  test("without a body nothing is there", () => {
    expect(holds({ "params.model": { $regex: "" } }, { body: null })).toBe(false);
    expect(holds({ "params.model": { $nin: ["m"] } }, { body: null })).toBe(true);
  });
});

describe("bounds of texts", () => {
  test("a text over 65,536 characters counts as missing", () => {
    const body = { text: "a".repeat(65_537) };
    expect(holds({ "params.text": { $regex: "^a" } }, { body })).toBe(false);
    expect(holds({ "params.text": { $ne: "a" } }, { body })).toBe(true);
  });

  test("small patterns look at whole texts, a large one at what it can in time", () => {
    const body = { text: `${"a".repeat(60_000)}#` };
    expect(holds({ "params.text": { $regex: "#$" } }, { body })).toBe(true);
    expect(holds({ "params.text": { $regex: "#$|[xy]{900}" } }, { body })).toBe(false);
    expect(holds({ "params.text": { $regex: "#$|[xy]{900}" } }, { body: { text: `${"a".repeat(900)}#` } })).toBe(true);
  });

  test.each(["(a+)+$", "(a|aa)+$", "(.*a){20}!", "([ab]*a[ab]{90}|c)[cd]$"])("%s does not stall", (pattern) => {
    const config = compiledConfig(configOf({ "params.text": { $regex: pattern } }));
    for (const length of [1_000, 10_000, 30_000, 65_000]) {
      const body = { text: `${"a".repeat(length)}#` };
      const started = performance.now();
      planConfig(
        config,
        viewOf(() => 0, factsOf({ body })),
      );
      expect(performance.now() - started).toBeLessThan(3_000);
    }
  });
});

// A second evaluator, as a reader of the documentation would write it, over the config's own JSON.

function naive(query: JsonObject, asked: Asked): boolean {
  return Object.entries(query).every(([key, value]) => {
    if (key === "$and") return (value as JsonObject[]).every((item) => naive(item, asked));
    if (key === "$or") return (value as JsonObject[]).some((item) => naive(item, asked));
    const found = naiveValue(key, asked);
    return isObject(value) ? Object.entries(value).every(([operator, operand]) => naiveTest(operator, operand, found)) : found === value;
  });
}

function naiveValue(key: string, { metadata = {}, body, path = "" }: Asked): unknown {
  if (key === "url.pathname") return `/v1${path}`;
  if (key.startsWith("metadata.")) return new Map(Object.entries(metadata)).get(key.slice("metadata.".length));
  const steps = key.slice("params.".length).replaceAll("[", ".").replaceAll("]", "").split(".");
  let value = body;
  for (const step of steps) value = typeof value === "object" && value !== null ? new Map(Object.entries(value)).get(step) : undefined;
  return typeof value === "object" && value !== null ? undefined : value;
}

function naiveTest(operator: string, operand: unknown, found: unknown): boolean {
  const number = (value: unknown) =>
    typeof value === "number" || (typeof value === "string" && value.trim() !== "") ? Number(value) : Number.NaN;
  switch (operator) {
    case "$eq":
      return found === operand;
    case "$ne":
      return found !== operand;
    case "$in":
      return found !== undefined && (operand as unknown[]).includes(found);
    case "$nin":
      return found === undefined || !(operand as unknown[]).includes(found);
    case "$regex":
      return typeof found === "string" && new RegExp(String(operand)).test(found);
    case "$gt":
      return number(found) > number(operand);
    case "$gte":
      return number(found) >= number(operand);
    case "$lt":
      return number(found) < number(operand);
    case "$lte":
      return number(found) <= number(operand);
    default:
      throw new Error(operator);
  }
}

const text = fc.constantFrom("", "a", "b", "ab", "5", "-1", "5.5", " 7 ", "five", "1e2");
const number = fc.constantFrom(-1, 0, 5, 5.5, 7, 100);
const scalar = fc.oneof(text, number, fc.boolean(), fc.constant(null));
const numeric = fc.oneof(number, fc.constantFrom("5", "-1", "5.5", "1e2"));
const tests = fc
  .record(
    {
      $eq: scalar,
      $ne: scalar,
      $gt: numeric,
      $gte: numeric,
      $lt: numeric,
      $lte: numeric,
      $in: fc.array(scalar, { maxLength: 3 }),
      $nin: fc.array(scalar, { maxLength: 3 }),
      $regex: fc.constantFrom("a", "^a$", "[ab]+", "5|7", ""),
    },
    { requiredKeys: [] },
  )
  .filter((record) => Object.keys(record).length > 0);
const field = fc.constantFrom(
  "metadata.t",
  "metadata.t.u",
  "params.a",
  "params.a.b",
  "params.a[0]",
  "params.a.0.b",
  "params.b",
  "url.pathname",
);
const { query } = fc.letrec<{ query: JsonObject }>((tie) => {
  const list = fc.array(tie("query"), { minLength: 1, maxLength: 3 });
  const leaf = fc.dictionary(field, fc.oneof(scalar, tests), { minKeys: 1, maxKeys: 2, noNullPrototype: true });
  const branch = fc
    .tuple(leaf, fc.record({ $and: list, $or: list }, { requiredKeys: [] }), fc.boolean())
    .map(([own, lists, listsFirst]) => (listsFirst ? { ...lists, ...own } : { ...own, ...lists }));
  return { query: fc.oneof({ maxDepth: 3, depthSize: "small" }, leaf, branch) };
});
const inner = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 2 }),
  fc.dictionary(fc.constantFrom("b", "0"), scalar, { noNullPrototype: true }),
);
const request: fc.Arbitrary<Asked> = fc.record({
  metadata: fc.dictionary(fc.constantFrom("t", "t.u"), text, { noNullPrototype: true }),
  body: fc.dictionary(fc.constantFrom("a", "b"), fc.oneof(inner, fc.array(inner, { maxLength: 2 })), { noNullPrototype: true }),
  path: fc.constantFrom("/a", "/chat/completions"),
});

test("any query over any request is what a naive evaluator says", () => {
  fc.assert(
    fc.property(query, request, (asked, of) => {
      expect(holds(asked, of)).toBe(naive(asked, of));
    }),
    { numRuns: 2_000 },
  );
});
