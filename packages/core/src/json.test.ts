import { expect, test } from "vitest";
import { boundedJson, boundedJsonOf, bufferOfJson, isObject, jsonOf, MAX_JSON_DEPTH } from "./json.ts";

test.each([
  [{}, true],
  [{ a: 1 }, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  ["{}", false],
  [undefined, false],
])("%j is a JSON object: %s", (value, is) => {
  expect(isObject(value)).toBe(is);
});

test("a body is parsed once, and the same value comes back", () => {
  const body = Buffer.from('{"a":[1,2]}');
  const first = jsonOf(body);
  body.fill("x");
  expect(jsonOf(body)).toBe(first);
  expect(first).toEqual({ a: [1, 2] });
});

test("null is remembered too", () => {
  const body = Buffer.from("null");
  expect(jsonOf(body)).toBeNull();
  body.fill("x");
  expect(jsonOf(body)).toBeNull();
});

test("equal bytes in another buffer are another body", () => {
  expect(jsonOf(Buffer.from("{}"))).not.toBe(jsonOf(Buffer.from("{}")));
});

test("what is no JSON throws each time", () => {
  const body = Buffer.from("{");
  expect(() => jsonOf(body)).toThrow(SyntaxError);
  expect(() => jsonOf(body)).toThrow(SyntaxError);
});

test("a buffer made from a value remembers that value", () => {
  const value = { a: "é", b: [null] };
  const body = bufferOfJson(value);
  expect(body.toString()).toBe('{"a":"é","b":[null]}');
  expect(jsonOf(body)).toBe(value);
});

test.each([
  ["lists", "[", "", "]"],
  ["objects", '{"a":', "1", "}"],
])("nesting of %s is bounded, and no engine's own limit is waited for", (_case, open, core, close) => {
  const nested = (levels: number) => `${open.repeat(levels)}${core}${close.repeat(levels)}`;
  const deepest = nested(MAX_JSON_DEPTH);
  expect(JSON.stringify(boundedJson(deepest))).toBe(deepest);
  expect(boundedJsonOf(Buffer.from(deepest))).toEqual(JSON.parse(deepest));
  for (const levels of [MAX_JSON_DEPTH + 1, 100_000]) {
    expect(() => boundedJson(nested(levels))).toThrow(SyntaxError);
    expect(() => boundedJsonOf(Buffer.from(nested(levels)))).toThrow(SyntaxError);
  }
});
