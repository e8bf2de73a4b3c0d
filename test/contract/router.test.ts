import { createHash } from "node:crypto";
import { PlanRequest, RouterDefinition } from "@unigate/contracts";
import { backgroundCall, type JsonObject, jsonOf } from "@unigate/core";
import { createRouterService } from "@unigate/router";
import { createMemoryBreakers, createMemoryMeasurements } from "@unigate/storage";
import { type Connection, runners } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const TENANT = { organisationId: "org-a", workspaceId: "ws-1" };
const START = Date.parse("2026-03-04T05:06:07.890Z");

interface Answer {
  readonly plan: unknown;
  readonly decision: JsonObject;
}

describe.each(runners)("router over $name", (runner) => {
  let connection: Connection<typeof RouterDefinition>;
  let draw = 0;
  let now = START;
  beforeEach(async () => {
    draw = 0;
    now = START;
    const clock = { now: () => now };
    const breakers = createMemoryBreakers({ clock });
    const measurements = createMemoryMeasurements({ clock });
    const router = createRouterService({ draw: () => draw, clock, breakers, measurements });
    connection = await runner.connect(RouterDefinition, router.port);
  });
  afterEach(() => connection.close());

  const call = () => backgroundCall(Date.now() + 60_000);
  function requestOf(config: unknown, over: Parameters<typeof PlanRequest.create>[0] = {}): PlanRequest {
    const configJson = Buffer.from(JSON.stringify(config));
    const configHash = createHash("sha256").update(configJson).digest();
    return PlanRequest.create({ tenant: TENANT, configHash, configJson, principalId: "key-1", ...over });
  }
  async function plan(config: unknown, over: Parameters<typeof PlanRequest.create>[0] = {}): Promise<Answer> {
    const { outcome, decisionJson } = await connection.port.plan(requestOf(config, over), call());
    if (outcome?.$case !== "plan") throw new Error(JSON.stringify(outcome));
    const { kind } = outcome.value;
    return { plan: kind?.$case === "leaf" ? kind.value.optionPath : kind, decision: jsonOf(decisionJson) as JsonObject };
  }

  const named = (name: string) => ({ provider: "mock", name });

  test("asks for a config that it does not know, once", async () => {
    const config = { strategy: { mode: "fallback" }, targets: [named("a"), named("b")] };
    const short = requestOf(config, { configJson: Buffer.alloc(0) });
    expect((await connection.port.plan(short, call())).outcome).toMatchObject({ $case: "needConfig" });
    expect((await connection.port.plan(requestOf(config), call())).outcome).toMatchObject({ $case: "plan" });
    expect((await connection.port.plan(short, call())).outcome).toMatchObject({ $case: "plan" });
    const foreign = { ...short, tenant: { organisationId: "org-b", workspaceId: "ws-1" } };
    expect((await connection.port.plan(foreign, call())).outcome).toMatchObject({ $case: "needConfig" });
  });

  test("load balancing by weight", async () => {
    const config = { strategy: { mode: "loadbalance" }, targets: [{ provider: "mock", weight: 3 }, { provider: "mock" }] };
    draw = 0.74;
    expect((await plan(config)).plan).toBe("config.targets[0]");
    draw = 0.76;
    expect(await plan(config)).toEqual({
      plan: "config.targets[1]",
      decision: { choices: [{ at: "config", mode: "loadbalance", sticky: false, draw: 0.76, weights: [3, 1], chosen: 1 }] },
    });
  });

  describe("conditions", () => {
    const config = {
      strategy: {
        mode: "conditional",
        conditions: [
          { query: { "metadata.tier": "paid" }, then: "paid" },
          { query: { "params.max_tokens": { $gt: 100 }, "params.messages[0].role": "user" }, then: "long" },
          { query: { "params.none": null }, then: "none" },
          { query: { "headers.X-Region": { $in: ["eu"] } }, then: "eu" },
          { query: { "url.pathname": { $regex: "^/v1/embed" } }, then: "embed" },
        ],
        default: "rest",
      },
      targets: ["rest", "paid", "long", "none", "eu", "embed"].map(named),
    };

    test.each([
      [{}, 0],
      [{ metadata: { tier: "paid" } }, 1],
      [{ conditionValues: { "params.max_tokens": "101", "params.messages.0.role": '"user"' } }, 2],
      [{ conditionValues: { "params.max_tokens": '"101"', "params.messages.0.role": '"user"' } }, 2],
      [{ conditionValues: { "params.max_tokens": "100", "params.messages.0.role": '"user"' } }, 0],
      [{ conditionValues: { "params.max_tokens": "101" } }, 0],
      [{ conditionValues: { "params.none": "null" } }, 3],
      [{ headers: [{ name: "x-region", value: "eu" }] }, 4],
      [{ path: "/embeddings" }, 5],
    ])("%j goes to target %i", async (facts, target) => {
      const answer = await plan(config, { facts });
      expect(answer.plan).toBe(`config.targets[${target}]`);
      expect(answer.decision["choices"]).toMatchObject([{ at: "config", mode: "conditional", chosen: target }]);
    });

    test("a condition that cannot be compiled is refused with its path", async () => {
      const wrong = { ...config, strategy: { ...config.strategy, default: "nobody" } };
      const { outcome } = await connection.port.plan(requestOf(wrong), call());
      expect(outcome).toMatchObject({ $case: "refused", value: { message: expect.stringContaining("strategy.default: no target") } });
    });
  });

  test("sticky: one who asks stays until the time is over", async () => {
    const sticky = { enabled: true, hash_fields: ["metadata.user", "params.session"], ttl: 60 };
    const config = { strategy: { mode: "loadbalance", sticky }, targets: Array.from({ length: 8 }, () => ({ provider: "mock" })) };
    const ask = (principalId: string, user = "u", session = '"s"') =>
      plan(config, { principalId, facts: { metadata: { user }, conditionValues: { "params.session": session } } });

    const first = await ask("key-1");
    expect(first.decision["choices"]).toMatchObject([{ sticky: true, draw: null }]);
    for (draw = 0; draw < 1; draw += 0.25) expect(await ask("key-1")).toEqual(first);
    const others = new Set<unknown>();
    for (let index = 0; index < 10; index++) {
      others.add((await ask(`key-${index + 2}`)).plan);
      others.add((await ask("key-1", `u-${index}`)).plan);
      others.add((await ask("key-1", "u", String(index))).plan);
    }
    expect(others.size).toBe(8);
    const later = new Set<unknown>();
    for (let index = 0; index < 20; index++) {
      now += 60_000;
      later.add((await ask("key-1")).plan);
    }
    expect(later.size).toBeGreaterThan(3);
  });
});
