import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findJson } from "./find-json.ts";

describe("JSON in a text", () => {
  test.each([
    ["the whole text", ' {"a": {"b": 1}} ', [{ a: { b: 1 } }]],
    ["a whole array", "[1, 2]", [[1, 2]]],
    ["a whole text that is a JSON string", '"{}"', ["{}"]],
    ["a whole number", "-1.5", [-1.5]],
    ["a fenced block", 'Here:\n```json\n{"a": 1}\n```\nDone {"b": 2}.', [{ a: 1 }]],
    ["a fenced block without a language", "```\n[1]\n```", [[1]]],
    ["several fenced blocks", '```json\n{"a":1}\n``` and ```\n{"b":2}\n```', [{ a: 1 }, { b: 2 }]],
    ["braces beside a fence that is no JSON", '```js\nlet a = {};\n``` {"b": 2}', [{}, { b: 2 }]],
    ["nested braces in prose", 'It is {"a": {"b": [1]}} I think', [{ a: { b: [1] } }]],
    ["two in prose", '{"a":1} or {"b":2}', [{ a: 1 }, { b: 2 }]],
    ["braces in strings", 'x {"a": "}{", "b": "\\"}"} y', [{ a: "}{", b: '"}' }]],
    ["braces that are none before some that are", 'use {name} as in {"name": 1}', [{ name: 1 }]],
    ["braces within braces that are no JSON", '{see {"a":1}}', [{ a: 1 }]],
    ["none", "no JSON at all", []],
    ["an open brace", '{"a": 1', []],
    ["nothing", "", []],
  ])("%s", (_name, text, found) => {
    expect(findJson(text)).toEqual(found);
  });

  test("any JSON object is found, alone, fenced and in prose", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const json = JSON.stringify(object);
        const value: unknown = JSON.parse(json);
        expect(findJson(json)).toEqual([value]);
        expect(findJson(`I say: ${json}, that is all`)).toContainEqual(value);
        if (!json.includes("```")) expect(findJson(`So:\n\`\`\`json\n${json}\n\`\`\``)).toContainEqual(value);
      }),
    );
  });

  test.each([
    ["open braces", "{".repeat(1_000_000)],
    ["open braces and quotes", '{"'.repeat(500_000)],
    ["braces that match and are no JSON", "{a}".repeat(300_000)],
    ["deep braces", `${"{".repeat(500_000)}${"}".repeat(500_000)}`],
    ["open brackets", "[".repeat(1_000_000)],
    ["deep arrays", `${"[".repeat(500_000)}${"]".repeat(500_000)}`],
    ["deep objects", `${'{"a":'.repeat(150_000)}1${"}".repeat(150_000)}`],
    ["fences", "```".repeat(300_000)],
    ["fences with open braces", "```{".repeat(250_000)],
  ])("1 MB of %s is done in bounded time", (_name, text) => {
    const started = performance.now();
    expect(findJson(text)).toEqual([]);
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  test("what is nested deeper than 200 levels is left out", () => {
    const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    expect(findJson(nested(200))).toHaveLength(1);
    expect(findJson(nested(201))).toEqual([]);
  });
});
