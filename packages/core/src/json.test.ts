import { expect, test } from "vitest";
import { bufferOfJson, isObject, jsonOf } from "./json.ts";

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
