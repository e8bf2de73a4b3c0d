import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkInput, NOTHING_OUTSIDE } from "../check-input.fixture.ts";
import { type CheckInput, CheckParameterError } from "../define.ts";
import requiredMetadataKeyPairs from "./index.ts";

async function verdict(parameters: Record<string, unknown>, metadata: CheckInput["metadata"]): Promise<boolean> {
  return (await requiredMetadataKeyPairs.prepare(parameters)(checkInput({ metadata: metadata }), NOTHING_OUTSIDE)).verdict;
}

const METADATA = { team: "web-eu", tier: "gold", tags: "red, green,blue" };

describe("default.requiredMetadataKeyPairs", () => {
  const both = { team: "web-eu", tier: "gold" };
  const one = { team: "web-eu", tier: "silver" };
  const neither = { team: "web-us", missing: "x" };

  test.each([
    ["all", both, true],
    ["all", one, false],
    ["all", neither, false],
    ["any", both, true],
    ["any", one, true],
    ["any", neither, false],
    ["none", both, false],
    ["none", one, false],
    ["none", neither, true],
    [undefined, both, true],
    [undefined, one, false],
  ])("operator %s over %j is %s", async (operator, metadataPairs, expected) => {
    expect(await verdict({ metadataPairs, ...(operator === undefined ? {} : { operator }) }, METADATA)).toBe(expected);
  });

  test.each([
    [undefined, "gold", true],
    [undefined, "gol", false],
    ["exact", "gold", true],
    ["exact", "Gold", false],
    ["exact", ["silver", "gold"], true],
    ["exact", ["silver", "bronze"], false],
    ["contains", "ol", true],
    ["contains", "OL", false],
    ["contains", ["zinc", "gol"], true],
    ["contains", ["zinc", "tin"], false],
    ["contains", "g.ld", false],
    ["containsAll", "g,d", true],
    ["containsAll", " go , ld ,", true],
    ["containsAll", "go,tin", false],
    ["containsAll", ["go", "ld"], true],
    ["containsAll", ["go", "tin"], false],
    ["regex", "^g.ld$", true],
    ["regex", "/GOLD/i", true],
    ["regex", "^ld", false],
    ["regex", ["^x", "ld$"], true],
    ["regex", ["^x", "y$"], false],
  ])("match type %s: %j over gold is %s", async (matchType, wanted, expected) => {
    const parameters = { metadataPairs: { tier: wanted }, ...(matchType === undefined ? {} : { matchType }) };
    expect(await verdict(parameters, METADATA)).toBe(expected);
  });

  test.each([
    [5, "5", true],
    [true, "true", true],
    [false, "true", false],
    [1.5, "1.5", true],
  ])("a wanted %j is compared as text", async (wanted, value, expected) => {
    expect(await verdict({ metadataPairs: { n: wanted } }, { n: value })).toBe(expected);
  });

  test("a key of every object is not a key of the metadata", async () => {
    expect(await verdict({ metadataPairs: { constructor: "Object" }, matchType: "contains" }, {})).toBe(false);
    expect(await verdict({ metadataPairs: JSON.parse('{"__proto__":"x"}') as object, operator: "none" }, {})).toBe(true);
  });

  test("says which keys match, never what stands in the metadata", async () => {
    const check = requiredMetadataKeyPairs.prepare({ metadataPairs: one, operator: "any" });
    const found = await check(checkInput({ metadata: { ...METADATA, tier: "hidden" } }), NOTHING_OUTSIDE);
    expect(found.data).toEqual({
      explanation: "At least one metadata pair matches.",
      operator: "any",
      matchType: "exact",
      matchedKeys: ["team"],
      unmatchedKeys: ["tier"],
    });
  });

  test("none is the opposite of any, and all of one pair is any of it", async () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", ",", " "), minLength: 1, maxLength: 5 });
    const pairs = fc.dictionary(fc.constantFrom("k", "l", "m"), text, { minKeys: 1 });
    const matchType = fc.constantFrom("exact", "contains");
    await fc.assert(
      fc.asyncProperty(pairs, fc.dictionary(fc.constantFrom("k", "l", "m"), text), matchType, async (metadataPairs, metadata, type) => {
        const of = (operator: string) => verdict({ metadataPairs, operator, matchType: type }, metadata);
        expect(await of("none")).toBe(!(await of("any")));
        if (Object.keys(metadataPairs).length === 1) expect(await of("all")).toBe(await of("any"));
        if (await of("all")) expect(await of("any")).toBe(true);
      }),
    );
  });

  test("a catastrophic pattern is done at once, and a value too long for a pattern is an error", async () => {
    const parameters = { metadataPairs: { k: "^(a+)+$" }, matchType: "regex" };
    expect(await verdict(parameters, { k: `${"a".repeat(250)}!` })).toBe(false);
    await expect(verdict(parameters, { k: "a".repeat(1_000_000) })).rejects.toThrow("longer than the 256 characters");
  });

  test.each([
    [{}, "metadataPairs"],
    [{ metadataPairs: {} }, "metadataPairs"],
    [{ metadataPairs: ["a"] }, "metadataPairs"],
    [{ metadataPairs: { k: null } }, "metadataPairs.k"],
    [{ metadataPairs: { k: [] } }, "metadataPairs.k"],
    [{ metadataPairs: { k: { a: 1 } } }, "metadataPairs.k"],
    [{ metadataPairs: { k: "x".repeat(1_001) } }, "metadataPairs.k"],
    [{ metadataPairs: { k: " , " }, matchType: "containsAll" }, "metadataPairs.k"],
    [{ metadataPairs: { k: "(" }, matchType: "regex" }, "metadataPairs.k"],
    [{ metadataPairs: { k: "(?=a)" }, matchType: "regex" }, "metadataPairs.k"],
    [{ metadataPairs: { k: Array.from({ length: 21 }, () => "a") }, matchType: "regex" }, "metadataPairs"],
    [{ metadataPairs: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`k${index}`, "v"])) }, "metadataPairs"],
    [{ metadataPairs: { k: "v" }, operator: "some" }, "operator"],
    [{ metadataPairs: { k: "v" }, matchType: "prefix" }, "matchType"],
  ])("%j is refused, naming the parameter", (parameters, parameter) => {
    expect(() => requiredMetadataKeyPairs.prepare(parameters)).toThrow(CheckParameterError);
    expect(() => requiredMetadataKeyPairs.prepare(parameters)).toThrow(new RegExp(`^${parameter}: expected `));
  });
});
