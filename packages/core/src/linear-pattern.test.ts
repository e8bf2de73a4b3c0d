import { expect, test } from "vitest";
import { compilePattern, type LinearPattern } from "./linear-pattern.ts";

function pattern(source: string, flags = ""): LinearPattern {
  const result = compilePattern(source, flags);
  if (!result.ok) throw new Error(result.reason);
  return result.pattern;
}

test.each([
  ["ab+", "", "xxabby", true],
  ["ab+", "", "AB", false],
  ["ab+", "i", "AB", true],
  ["^b", "", "a\nb", false],
  ["^b", "m", "a\nb", true],
  ["a.b", "", "a\nb", false],
  ["a.b", "s", "a\nb", true],
  ["(?<name>a)\\u0041\\cA", "", "aA\u0001", true],
  ["", "", "", true],
])("/%s/%s on %j: %s", (source, flags, text, found) => {
  expect(pattern(source, flags).matches(text)).toBe(found);
});

test.each(["(?=a)", "(?<!a)b", "(a)\\1", "(?<x>a)\\k<x>", "(", "[", "a{1001}"])("%s is refused with a reason", (source) => {
  const result = compilePattern(source);
  expect(result.ok ? "" : result.reason).not.toBe("");
});

test("time is linear in the text, and a match that was slow once works again", () => {
  const hostile = pattern("(a+)+$");
  for (let round = 0; round < 3; round++) {
    expect(hostile.matches(`${"a".repeat(100_000)}#`)).toBe(false);
    expect(hostile.matches("#a")).toBe(true);
  }
});
