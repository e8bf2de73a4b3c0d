import * as fc from "fast-check";
import { expect, test } from "vitest";
import { buildAutomaton, createWordFinder, findInOnePass } from "./word-finder.ts";

test("one pass finds exactly the words that are substrings", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "😀"), maxLength: 60 });
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c", "😀"), maxLength: 6 });
  fc.assert(
    fc.property(text, fc.array(word, { minLength: 1, maxLength: 12 }), (haystack, words) => {
      expect(findInOnePass(buildAutomaton(words), haystack)).toEqual(new Set(words.filter((one) => haystack.includes(one))));
    }),
  );
});

test("words that make plain substring search quadratic end in one pass over 4 MB", () => {
  const word = `${"a".repeat(499)}b${"a".repeat(500)}`;
  const find = createWordFinder([word, "zebra"]);
  expect(find("a".repeat(4_000_000))).toEqual(new Set());
  expect(find(`${"a".repeat(4_000_000)}b${"a".repeat(500)}`)).toEqual(new Set([word]));
});
