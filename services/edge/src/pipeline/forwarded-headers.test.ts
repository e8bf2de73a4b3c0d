import { expect, test } from "vitest";
import { forwardedHeaders, headersForChecks } from "./forwarded-headers.ts";

const TRACEPARENT = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;

test.each<[string[], Record<string, string>, string[][]]>([
  [[], {}, []],
  [["x-team"], { "x-team": "web", "x-other": "no" }, [["x-team", "web"]]],
  [["x-team", "x-team"], { "x-team": "web" }, [["x-team", "web"]]],
  [["x-team"], {}, []],
  [["traceparent"], {}, [["traceparent", TRACEPARENT]]],
  [["traceparent"], { traceparent: "the client's" }, [["traceparent", "the client's"]]],
])("checks that name %j of %j get %j", (names, headers, passed) => {
  const found = headersForChecks(headers, names, TRACEPARENT);
  expect(found.map(({ name, value }) => [name, value])).toEqual(passed);
});

test("a provider gets what is named, but no credential and nothing of the gateway's", () => {
  const headers = { "x-team": "web", authorization: "Bearer x", cookie: "a=b", "x-gateway-trace-id": "t" };
  expect(forwardedHeaders(headers, Object.keys(headers))).toEqual([{ name: "x-team", value: "web" }]);
});
