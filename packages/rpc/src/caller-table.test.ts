import { describe, expect, test } from "vitest";
import { type CallerTable, callerCheck, callersOf } from "./caller-table.ts";
import type { Peer } from "./mesh-token.ts";

const table: CallerTable = {
  cache: { "/u.cache.v1.Cache/": ["edge"], "/u.cache.v1.Cache/Purge": ["control", "jobs"] },
  router: { "/u.router.v1.Router/": ["edge"] },
};

function peer(services: readonly string[] | null): Peer {
  return { header: () => undefined, address: () => "10.0.0.7:1", services };
}

test.each<[string, readonly string[]]>([
  ["/u.cache.v1.Cache/Lookup", ["edge"]],
  ["/u.cache.v1.Cache/Purge", ["control", "jobs"]],
  ["/u.router.v1.Router/Plan", ["edge"]],
  ["/u.policy.v1.Policy/Reserve", []],
  ["/u.cache.v2.Cache/Lookup", []],
  ["", []],
])("%s may be called by %j", (path, callers) => {
  expect(callersOf(table, path)).toEqual(callers);
});

describe("a caller", () => {
  const check = callerCheck(table);

  test.each<[readonly string[], string]>([
    [["edge"], "/u.cache.v1.Cache/Lookup"],
    [["router", "edge"], "/u.cache.v1.Cache/Lookup"],
    [["jobs"], "/u.cache.v1.Cache/Purge"],
  ])("%j is let in to %s, each time", (services, path) => {
    expect([check(peer(services), path), check(peer(services), path)]).toEqual([null, null]);
  });

  test.each<[readonly string[], string, string]>([
    [["router"], "/u.cache.v1.Cache/Lookup", "router may not call Cache.Lookup; edge may."],
    [["router", "policy"], "/u.cache.v1.Cache/Purge", "router, policy may not call Cache.Purge; control, jobs may."],
    [["edge"], "/u.cache.v1.Cache/Purge", "edge may not call Cache.Purge; control, jobs may."],
    [["edge"], "/u.policy.v1.Policy/Reserve", "edge may not call Policy.Reserve; nobody may."],
    [[], "/u.cache.v1.Cache/Lookup", " may not call Cache.Lookup; edge may."],
  ])("%j is refused at %s, each time", (services, path, text) => {
    for (const error of [check(peer(services), path), check(peer(services), path)])
      expect([error?.code, error?.message]).toEqual(["PERMISSION_DENIED", text]);
  });

  test("without a certificate is refused everywhere", () => {
    expect(check(peer(null), "/u.cache.v1.Cache/Lookup")?.code).toBe("UNAUTHENTICATED");
  });
});
