import { backgroundCall, type ConfigResource, type JsonObject } from "@unigate/core";
import type { Resolver } from "@unigate/resolve";
import { expect, test } from "vitest";
import type { Run } from "../run-state.ts";
import { planRequest } from "./plan.ts";
import { findSavedConfig } from "./resolve-config.ts";

const TENANT = { organisationId: "org-a", workspaceId: "ws-a" };
const CALL = backgroundCall(Number.POSITIVE_INFINITY);
const fiveOf = <T>(make: (index: number) => T): T[] => Array.from({ length: 5 }, (_, index) => make(index));

/** Conditions over load balancing over fallback: 50 targets. */
const NESTED: JsonObject = {
  strategy: {
    mode: "conditional",
    conditions: fiveOf((index) => ({ query: { "metadata.tier": `t${index}` }, then: `group-${index}` })),
    default: "group-0",
  },
  targets: fiveOf((index) => ({
    name: `group-${index}`,
    strategy: { mode: "loadbalance" },
    targets: fiveOf(() => ({ strategy: { mode: "fallback" }, targets: [{ provider: "mock" }, { provider: "mock" }] })),
  })),
};

/** Fails when anything is asked of it but what is given. */
function only<T extends object>(given: T): T {
  return new Proxy(given, {
    get(target, name, receiver) {
      if (!(name in target)) throw new Error(`planning asks for ${String(name)}`);
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
}

test("a nested saved config is compiled once and planned without asking any service", async () => {
  let reads = 0;
  const resource: ConfigResource = {
    id: "pc-nested",
    name: "nested",
    version: "1",
    organisation_id: TENANT.organisationId,
    workspace_id: null,
    get config() {
      reads += 1;
      return NESTED;
    },
  };
  const resolver = only({ peek: () => ({ value: resource, version: "1" }) }) as object as Resolver;
  const find = () => findSavedConfig(resolver, TENANT, "pc-nested", CALL);
  const config = await find();
  if (config === null) throw new Error("the config is not found");
  expect(config.compiled.leaves).toHaveLength(50);
  const readsOfFirst = reads;

  for (let request = 0; request < 100; request++) {
    const again = await find();
    expect(again).toBe(config);
    const run = {
      config,
      deps: only({ draw: () => request / 100, clock: { now: () => 0 } }),
      request: { surface: "chat", method: "POST", path: "/v1/chat/completions", json: {}, headers: {}, principal: { key: { id: "k" } } },
      metadata: { tier: `t${request % 5}` },
      decision: {},
    } as object as Run;
    const { kind } = await planRequest(run);
    expect(kind?.$case).toBe("sequence");
    expect(run.decision).toMatchObject({ choices: [{ chosen: request % 5 }, { chosen: Math.floor(request / 20) }] });
  }
  expect(reads).toBe(readsOfFirst);
});
