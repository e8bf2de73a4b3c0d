import { makeGatewayKey } from "@unigate/secrets";
import { describe, expect, test } from "vitest";
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

describe("a provider gets", () => {
  const key = makeGatewayKey();
  const headers = {
    "x-team": "web",
    "x-gateway-trace-id": "t",
    "x-gateway-api-key": key,
    authorization: "Bearer x",
    "api-key": "x",
    "x-api-key": "x",
    "x-goog-api-key": "x",
    cookie: "a=b",
    connection: "close",
    "transfer-encoding": "chunked",
    host: "gateway",
    te: "trailers",
    upgrade: "x",
    "content-length": "5",
    "x-mine": key,
    "x-mine-too": `Bearer ${key}`,
    "user-agent": "sdk",
  };

  test("what is named, but no credential and nothing of the gateway's or of the connection", () => {
    expect(forwardedHeaders(headers, Object.keys(headers)).map(({ name }) => name)).toEqual(["x-team", "user-agent"]);
  });

  test.each([
    [["x-team"], undefined, ["x-team"]],
    [["x-team"], "user-agent", ["user-agent"]],
    [["x-team"], "", []],
    [[], " X-Team ,user-agent,, x-none", ["x-team", "user-agent"]],
    [[], "x-gateway-api-key, cookie, X-Gateway-Forward-Headers", []],
    [[], undefined, []],
  ])("of the config's %j and the header's %j, which wins: %j", (fromConfig, header, names) => {
    const sent = header === undefined ? headers : { ...headers, "x-gateway-forward-headers": header };
    expect(forwardedHeaders(sent, fromConfig).map(({ name }) => name)).toEqual(names);
  });
});
