import { describe, expect, test } from "vitest";
import { CheckParameterError } from "./define.ts";
import { forwarded, readForwardHeaders } from "./forward-headers.ts";

test.each([
  [undefined, []],
  [null, []],
  [[], []],
  [
    ["X-Team", "x-gateway-trace-id"],
    ["x-team", "x-gateway-trace-id"],
  ],
])("%j names %j", (value, names) => {
  expect(readForwardHeaders(value)).toEqual(names);
});

describe("refused by its place", () => {
  test.each([
    ["x-team", "forwardHeaders"],
    [{}, "forwardHeaders"],
    [Array.from({ length: 51 }, () => "x-team"), "forwardHeaders"],
    [["x-team", 5], "forwardHeaders[1]"],
    [["Authorization"], "forwardHeaders[0]"],
    [["cookie"], "forwardHeaders[0]"],
    [["connection"], "forwardHeaders[0]"],
    [["x-gateway-config"], "forwardHeaders[0]"],
    [["x-auth-token"], "forwardHeaders[0]"],
  ])("%j", (value, place) => {
    const read = () => readForwardHeaders(value);
    expect(read).toThrow(CheckParameterError);
    expect(read).toThrow(`${place}: expected `);
  });
});

test("only what was named and sent is passed on", () => {
  expect(forwarded(["x-team", "x-absent", "constructor"], { "x-team": "web", "x-other": "y" })).toEqual({ "x-team": "web" });
});
