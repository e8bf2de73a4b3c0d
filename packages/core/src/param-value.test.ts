import { expect, test } from "vitest";
import { paramValue } from "./param-value.ts";

const BODY: unknown = JSON.parse(`{
  "model": "gpt", "none": null, "zero": 0, "off": false, "empty": "",
  "messages": [{ "role": "user", "parts": [["a", "b"]] }],
  "nested": { "0": "key", "__proto__": { "tier": "own" } }
}`);

test.each([
  [["model"], "gpt"],
  [["none"], null],
  [["zero"], 0],
  [["off"], false],
  [["empty"], ""],
  [["messages", 0, "role"], "user"],
  [["messages", "0", "role"], "user"],
  [["messages", 0, "parts", 0, 1], "b"],
  [["nested", "0"], "key"],
  [["nested", 0], "key"],
  [["nested", "__proto__", "tier"], "own"],
  [["missing"], undefined],
  [["messages"], undefined],
  [["nested"], undefined],
  [["messages", 1, "role"], undefined],
  [["messages", "length"], undefined],
  [["messages", "at"], undefined],
  [["messages", -1], undefined],
  [["model", "length"], undefined],
  [["model", 0], undefined],
  [["none", "a"], undefined],
  [["constructor"], undefined],
  [["constructor", "name"], undefined],
  [["__proto__"], undefined],
  [["toString"], undefined],
])("the value at %j", (steps, value) => {
  expect(paramValue(BODY, steps)).toBe(value);
});

test("no body has no values", () => {
  expect(paramValue(null, ["model"])).toBeUndefined();
});

test("a text that is too long counts as missing", () => {
  expect(paramValue({ text: "x".repeat(65_536) }, ["text"])).toHaveLength(65_536);
  expect(paramValue({ text: "x".repeat(65_537) }, ["text"])).toBeUndefined();
});
