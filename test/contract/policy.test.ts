import { randomUUID } from "node:crypto";
import { PolicyDefinition, RenewRequest, type ReserveReply, ReserveRequest, SettleRequest } from "@unigate/contracts";
import { backgroundCall, type Clock, type PolicySetResource, type RateLimit, type RateLimitPolicy, Secret } from "@unigate/core";
import { createPolicyService, type PolicyDeps } from "@unigate/policy";
import type { Resolution, ResourceRef } from "@unigate/resolve";
import { createMemoryCounters, createRedisCounters, openRedis, type RedisLink, readRedisAddress } from "@unigate/storage";
import { type Connection, requirement, runners } from "@unigate/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

const START = Date.parse("2026-03-04T05:06:07.890Z");
const MINUTE_END = Date.parse("2026-03-04T05:07:00.000Z");

const LIMITS: Readonly<Record<string, readonly RateLimit[]>> = {
  "api_key two-a-minute": [{ type: "requests", unit: "rpm", value: 2 }],
  "api_key blocked": [{ type: "requests", unit: "rpd", value: 0 }],
  "api_key tokens": [{ type: "tokens", unit: "rph", value: 1_000 }],
  "api_key both": [
    { type: "requests", unit: "rpm", value: 2 },
    { type: "requests", unit: "rpd", value: 100 },
  ],
  "api_key one-at-a-time": [{ type: "concurrency", unit: null, value: 1 }],
  "api_key free": [],
  "provider one-a-second": [{ type: "requests", unit: "rps", value: 1 }],
};

function policy(id: string, over: Partial<RateLimitPolicy>): RateLimitPolicy {
  return {
    id,
    name: null,
    organisation_id: "",
    workspace_id: null,
    conditions: [],
    group_by: [],
    type: "requests",
    unit: "rph",
    value: 2,
    status: "active",
    on_store_loss: "open",
    ...over,
  };
}
const when = (key: string, value: string) => [{ key, value, excludes: false }];
const POLICIES: PolicySetResource = {
  usage_limits: [],
  rate_limits: [
    policy("each-team", { conditions: when("metadata.team", "*"), group_by: [{ key: "metadata.team" }, { key: "api_key" }] }),
    policy("big-models", { name: "Big models", conditions: when("model", "@big/*"), value: 1 }),
    policy("all-of-a-batch", { conditions: when("metadata.kind", "batch"), type: "tokens", unit: "rpd", value: 1_000 }),
    policy("strict", { conditions: when("api_key", "strict"), value: 9, on_store_loss: "closed" }),
    policy("strict-model", { conditions: when("model", "@strict/*"), value: 9, on_store_loss: "closed" }),
  ],
};

/** Saved things as the resolver would find them; the key and the organisation "down" cannot be asked for. */
const resolver: PolicyDeps["resolver"] = {
  async resolve({ kind, id }: ResourceRef): Promise<Resolution<never> | null> {
    if (id === "down") throw new Error("control is down");
    if (kind === "policy_set") return { value: POLICIES as never, sealed: undefined, version: "1" };
    const rate_limits = LIMITS[`${kind} ${id}`];
    return rate_limits === undefined ? null : { value: { rate_limits } as never, sealed: undefined, version: "1" };
  },
};

const redis = requirement("redis");
const cluster = requirement("redis-cluster");
const redisLinks: RedisLink[] = [];
afterAll(() => {
  for (const link of redisLinks) link.close();
});

async function openLink(at = redis.at): Promise<RedisLink> {
  const link = await openRedis({ address: readRedisAddress(new Secret(at)), name: "unigate-test", deadlineMs: 10_000 });
  redisLinks.push(link);
  return link;
}

/** Of a verdict that allows. */
const NO_LIMIT = { policyId: "", bucket: "", owner: "", ownerName: "" };

/** Counters that tell what was asked of them: a call of Redis's counters is one round trip. */
function countCalls(counters: PolicyDeps["counters"]): { readonly counters: PolicyDeps["counters"]; names(): string[] } {
  const names: string[] = [];
  const counted = <C, R>(name: string, ask: (call: C) => R) => {
    return (call: C): R => {
      names.push(name);
      return ask(call);
    };
  };
  const { reserve, peek, settle, renew } = counters;
  return {
    counters: {
      reserve: counted("reserve", reserve),
      peek: counted("peek", peek),
      settle: counted("settle", settle),
      renew: counted("renew", renew),
    },
    names: () => names,
  };
}

/** Where is counted. */
const stores = [
  { store: "memory", available: true, open: async () => (clock: Clock) => createMemoryCounters({ clock }) },
  {
    store: "redis",
    available: redis.available,
    async open() {
      const link = await openLink();
      return (clock: Clock) => createRedisCounters(link, { clock });
    },
  },
  {
    store: "redis-cluster",
    available: cluster.available,
    async open() {
      const link = await openLink(cluster.at);
      return (clock: Clock) => createRedisCounters(link, { clock });
    },
  },
];
const suites = stores.flatMap((store) => runners.map((runner) => ({ ...store, runner, name: runner.name })));

describe.each(suites)("policy over $name, counting in $store", ({ runner, available, open }) => {
  describe.skipIf(!available)("the port", () => {
    let now = START;
    let connection: Connection<typeof PolicyDefinition>;
    let lost: unknown[] = [];
    let number = 0;
    let create: Awaited<ReturnType<typeof open>>;
    let tenant = { organisationId: "", workspaceId: "ws-1" };
    beforeAll(async () => {
      create = await open();
    });

    async function connect(counters: PolicyDeps["counters"]): Promise<void> {
      const service = createPolicyService({ counters, resolver, onStoreLost: (cause) => lost.push(cause) });
      connection = await runner.connect(PolicyDefinition, service);
    }
    beforeEach(async () => {
      now = START;
      lost = [];
      number = 0;
      tenant = { ...tenant, organisationId: randomUUID() };
      await connect(create({ now: () => now }));
    });
    afterEach(() => connection.close());

    function reserve(apiKeyId: string, over: Parameters<typeof ReserveRequest.create>[0] = {}): Promise<ReserveReply> {
      number += 1;
      const request = { reservationId: `r${number}`, tenant, subject: { apiKeyId }, requestScope: true, ...over };
      return connection.port.reserve(ReserveRequest.create(request), backgroundCall());
    }

    async function settle(...items: NonNullable<Parameters<typeof SettleRequest.create>[0]>["items"] & object): Promise<void> {
      const filled = items.map((item) => ({ tenant, last: true, ...item }));
      await connection.port.settle(SettleRequest.create({ items: filled }), backgroundCall());
    }

    test("a key's limit grants exactly its value in a minute, then refuses until the minute ends", async () => {
      const first = await reserve("two-a-minute");
      expect(first).toEqual({
        request: { ...NO_LIMIT, allowed: true, status: 0, retryAfterMs: 0, shadow: false, code: "" },
        target: undefined,
        remaining: [
          {
            policyId: "api_key/two-a-minute/requests/rpm",
            unit: "rpm",
            limit: 2,
            left: 1,
            resetsAt: MINUTE_END,
            type: "requests",
            ofTarget: false,
          },
        ],
        storeLost: false,
      });
      await reserve("two-a-minute");
      const third = await reserve("two-a-minute");
      expect(third.request).toEqual({
        allowed: false,
        policyId: "api_key/two-a-minute/requests/rpm",
        bucket: "",
        status: 429,
        retryAfterMs: MINUTE_END - START,
        shadow: false,
        code: "rate_limited",
        owner: "api_key",
        ownerName: "two-a-minute",
      });
      now = MINUTE_END;
      expect((await reserve("two-a-minute")).request?.allowed).toBe(true);
    });

    test("a look tells what a reservation would be told of both scopes, in one call of the store, and takes nothing", async () => {
      const calls = countCalls(create({ now: () => now }));
      await connection.close();
      await connect(calls.counters);
      const asked = { tenant, subject: { apiKeyId: "two-a-minute", slug: "one-a-second" }, requestScope: true, targetScope: true };
      const look = () => connection.port.peek(ReserveRequest.create(asked), backgroundCall());
      const left = (reply: ReserveReply) => reply.remaining.map((remaining) => remaining.left);
      expect(left(await look())).toEqual([2, 1]);
      for (const _ of [1, 2]) await reserve("two-a-minute");
      const full = await look();
      expect(left(full)).toEqual([0, 1]);
      expect(full).toMatchObject({ request: { allowed: false, code: "rate_limited", owner: "api_key" }, target: { allowed: true } });
      expect(calls.names()).toEqual(["peek", "reserve", "reserve", "peek"]);
    });

    test("as many at once as there may be", async () => {
      const replies = await Promise.all(Array.from({ length: 40 }, () => reserve("two-a-minute")));
      expect(replies.filter((reply) => reply.request?.allowed === true)).toHaveLength(2);
    });

    test("every limit of a key holds", async () => {
      const reply = await reserve("both");
      expect(reply.remaining.map(({ unit, left }) => [unit, left])).toEqual([
        ["rpm", 1],
        ["rpd", 99],
      ]);
    });

    test("a limit of 0 blocks", async () => {
      expect((await reserve("blocked")).request).toMatchObject({ allowed: false, status: 429 });
    });

    test("organisations do not share a key's limit", async () => {
      for (let index = 0; index < 3; index += 1) await reserve("two-a-minute");
      const other = await reserve("two-a-minute", { tenant: { ...tenant, organisationId: randomUUID() } });
      expect(other.request?.allowed).toBe(true);
    });

    test("a key without limits passes", async () => {
      expect(await reserve("free")).toMatchObject({ request: { allowed: true }, remaining: [], storeLost: false });
    });

    test.each(["unknown", "down"])("a key that cannot be read (%s) passes, and the loss is said", async (key) => {
      expect(await reserve(key)).toMatchObject({ request: { allowed: true }, remaining: [], storeLost: true });
      expect(lost).toEqual(key === "down" ? [new Error("control is down")] : []);
    });

    test("when the counters are lost rates pass, and the loss is said", async () => {
      await connection.close();
      const gone = () => Promise.reject(new Error("store gone"));
      await connect({ reserve: gone, peek: gone, settle: gone, renew: gone });
      const reply = await reserve("two-a-minute", { targetScope: true, subject: { apiKeyId: "two-a-minute", slug: "one-a-second" } });
      expect(reply).toMatchObject({ request: { allowed: true }, target: { allowed: true }, remaining: [], storeLost: true });
      expect(lost).toEqual([new Error("store gone")]);
      await expect(settle({ reservationId: "r1" })).rejects.toMatchObject({ code: "INTERNAL" });
    });

    test("a target's limit refuses the target and leaves the request admitted", async () => {
      const both = { targetScope: true, subject: { apiKeyId: "both", slug: "one-a-second" } };
      expect(await reserve("both", both)).toMatchObject({ request: { allowed: true }, target: { allowed: true } });
      const second = await reserve("both", both);
      expect(second).toMatchObject({
        request: { allowed: true },
        target: { allowed: false, policyId: "provider/one-a-second/requests/rps" },
      });
      expect(await reserve("both", both)).toMatchObject({ request: { allowed: false }, target: undefined });
    });

    test("a refunded target may be used again", async () => {
      const target = { requestScope: false, targetScope: true, subject: { slug: "one-a-second" } };
      expect(await reserve("", { ...target, reservationId: "a" })).toMatchObject({ request: undefined, target: { allowed: true } });
      await settle({ reservationId: "a", refundTarget: true });
      expect((await reserve("", target)).target?.allowed).toBe(true);
    });

    test("tokens: the estimate is taken, the real use replaces it, once", async () => {
      expect((await reserve("tokens", { reservationId: "a", tokens: 700 })).remaining[0]?.left).toBe(300);
      expect((await reserve("tokens", { tokens: 301 })).request?.allowed).toBe(false);
      const usage = { input: 100, cacheRead: 20, outputText: 60, reasoning: 20 };
      await settle({ reservationId: "a", usage }, { reservationId: "a", usage });
      await settle({ reservationId: "a", usage });
      expect((await reserve("tokens", { tokens: 1 })).remaining[0]?.left).toBe(799);
    });

    test("an attempt without usage used no tokens; its request stays counted", async () => {
      await reserve("tokens", { reservationId: "a", tokens: 700 });
      await reserve("two-a-minute", { reservationId: "b" });
      await settle({ reservationId: "a" }, { reservationId: "b" });
      expect((await reserve("tokens", { tokens: 1 })).remaining[0]?.left).toBe(999);
      expect((await reserve("two-a-minute")).remaining[0]?.left).toBe(0);
    });

    test("every policy that matches counts, with the limits of key and provider, in one call of the store", async () => {
      const calls = countCalls(create({ now: () => now }));
      await connection.close();
      await connect(calls.counters);
      const asked = {
        targetScope: true,
        subject: { apiKeyId: "both", slug: "one-a-second", provider: "openai", model: "m" },
        tokens: 30,
        facts: { metadata: { team: "web", kind: "batch" }, maxOutputTokens: 20 },
      };
      const reply = await reserve("both", asked);
      expect(reply.remaining.map(({ policyId, left, ofTarget }) => [policyId, left, ofTarget])).toEqual([
        ["api_key/both/requests/rpm", 1, false],
        ["api_key/both/requests/rpd", 99, false],
        ["policy/each-team/requests/rph", 1, false],
        ["policy/all-of-a-batch/tokens/rpd", 970, false],
        ["provider/one-a-second/requests/rps", 0, true],
      ]);
      await settle({ reservationId: "r1", usage: { input: 7 } });
      expect(calls.names()).toEqual(["reserve", "settle"]);
    });

    test("a policy counts each of its groups apart, and what lacks a group not at all", async () => {
      const of = (team: string, apiKeyId = "free") => reserve(apiKeyId, { facts: { metadata: { team } } });
      for (const team of ["a", "a", "b"]) expect((await of(team)).request?.allowed).toBe(true);
      expect((await of("a")).request).toMatchObject({
        allowed: false,
        status: 429,
        code: "rate_limited",
        policyId: "policy/each-team/requests/rph",
        bucket: '["metadata.team","a","api_key","free"]',
        owner: "policy",
        ownerName: "each-team",
      });
      expect((await of("a", "tokens")).request?.allowed).toBe(true);
      expect((await of("b")).request?.allowed).toBe(true);
      expect(await reserve("free")).toMatchObject({ request: { allowed: true }, remaining: [] });
    });

    test("a policy about a model counts the target: the request stays admitted", async () => {
      const big = { targetScope: true, subject: { apiKeyId: "free", slug: "big", provider: "openai", model: "m" } };
      expect(await reserve("free", big)).toMatchObject({ request: { allowed: true }, target: { allowed: true } });
      expect(await reserve("free", big)).toMatchObject({
        request: { allowed: true },
        target: { allowed: false, policyId: "policy/big-models/requests/rph", owner: "policy", ownerName: "Big models" },
      });
      expect(await reserve("free", { ...big, targetScope: false })).toMatchObject({ request: { allowed: true }, target: undefined });
    });

    test("a guess of tokens is never more than the limit", async () => {
      const first = await reserve("tokens", { reservationId: "a", tokens: 4_500 });
      expect([first.request?.allowed, first.remaining[0]?.left]).toEqual([true, 0]);
      await settle({ reservationId: "a", usage: { input: 100 } });
      expect((await reserve("tokens", { tokens: 4_500, facts: { maxOutputTokens: 4_000 } })).request?.allowed).toBe(false);
      expect((await reserve("tokens", { tokens: 900, facts: { maxOutputTokens: 500 } })).request?.allowed).toBe(true);
    });

    test("when the counters are lost, a policy that is closed then lets nothing pass", async () => {
      await connection.close();
      const gone = () => Promise.reject(new Error("store gone"));
      await connect({ reserve: gone, peek: gone, settle: gone, renew: gone });
      expect(await reserve("strict")).toMatchObject({
        request: { allowed: false, status: 503, code: "service_unavailable", policyId: "policy/strict/requests/rph", ownerName: "strict" },
        target: undefined,
        storeLost: true,
      });
      expect(lost).toEqual([]);
      const model = { targetScope: true, subject: { apiKeyId: "free", slug: "strict", model: "m" }, facts: { metadata: { team: "a" } } };
      expect(await reserve("free", model)).toMatchObject({
        request: { allowed: true },
        target: { allowed: false, status: 503, ownerName: "strict-model" },
      });
      expect(lost).toHaveLength(1);
    });

    test("policies that cannot be read are a fault: the caller knows which of them are closed", async () => {
      await expect(reserve("free", { tenant: { ...tenant, organisationId: "down" } })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });

    describe("renewing", () => {
      const renew = (reservationIds: string[], leaseMs = 0) =>
        connection.port.renew(RenewRequest.create({ organisationId: tenant.organisationId, reservationIds, leaseMs }), backgroundCall());

      test("a reservation lasts 60 s, and as long again with each renewal", async () => {
        await reserve("one-at-a-time", { reservationId: "a" });
        for (let round = 0; round < 3; round += 1) {
          now += 59_000;
          expect(await renew(["a"])).toEqual({ lost: [] });
        }
        now += 59_999;
        expect((await reserve("one-at-a-time")).request?.allowed).toBe(false);
        now += 1;
        expect((await reserve("one-at-a-time")).request?.allowed).toBe(true);
        expect(await renew(["a", "r3"])).toEqual({ lost: ["a"] });
      });

      test("what nobody renews stays counted in its window: only its concurrency is given back", async () => {
        await reserve("tokens", { reservationId: "a", tokens: 700 });
        await reserve("one-at-a-time", { reservationId: "b", facts: { metadata: { team: "web" } } });
        now += 60_000;
        const next = await reserve("one-at-a-time", { facts: { metadata: { team: "web" } } });
        expect(next.request?.allowed).toBe(true);
        expect(next.remaining.find(({ policyId }) => policyId.startsWith("policy/"))?.left).toBe(0);
        await settle({ reservationId: "a", usage: { input: 1 }, refundRequest: true });
        expect((await reserve("tokens", { tokens: 1 })).remaining[0]?.left).toBe(299);
      });

      test("nothing to renew, nobody to renew for, and too many are told apart", async () => {
        expect(await renew([])).toEqual({ lost: [] });
        const nobody = RenewRequest.create({ reservationIds: ["a"] });
        await expect(connection.port.renew(nobody, backgroundCall())).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
        const many = Array.from({ length: 10_001 }, (_, index) => `r${index}`);
        await expect(renew(many)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      });
    });

    test("settling what was never reserved is harmless", async () => {
      await settle({ reservationId: "nobody" });
      expect((await reserve("two-a-minute")).remaining[0]?.left).toBe(1);
    });

    test("a reservation without id, tenant or subject is refused", async () => {
      for (const missing of [{ reservationId: "" }, { tenant: undefined }, { subject: undefined }]) {
        await expect(reserve("free", missing)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      }
    });
  });
});

describe.skipIf(!redis.available)("policy on Redis", () => {
  const tenant = { organisationId: randomUUID(), workspaceId: "ws-1" };
  const lost: unknown[] = [];
  const service = (link: RedisLink) =>
    createPolicyService({ counters: createRedisCounters(link), resolver, onStoreLost: (cause) => lost.push(cause) });
  const reserving = (reservationId: string) =>
    ReserveRequest.create({ reservationId, tenant, subject: { apiKeyId: "tokens" }, requestScope: true, tokens: 400 });
  const settling = (reservationId: string) =>
    SettleRequest.create({ items: [{ tenant, reservationId, last: true, usage: { input: 100 } }] });

  test("one service settles what another one reserved", async () => {
    const [one, other] = [service(await openLink()), service(await openLink())];
    expect((await one.reserve(reserving("a"), backgroundCall())).remaining[0]?.left).toBe(600);
    expect((await other.reserve(reserving("b"), backgroundCall())).remaining[0]?.left).toBe(200);
    expect((await one.reserve(reserving("c"), backgroundCall())).request?.allowed).toBe(false);
    await other.settle(settling("a"), backgroundCall());
    await one.settle(settling("b"), backgroundCall());
    expect((await other.reserve(reserving("c"), backgroundCall())).remaining[0]?.left).toBe(400);
  });

  test("without Redis rates pass and say so, and a settlement asks to be sent again", async () => {
    const link = await openLink();
    link.close();
    const alone = service(link);
    expect(await alone.reserve(reserving("d"), backgroundCall())).toMatchObject({
      request: { allowed: true },
      remaining: [],
      storeLost: true,
    });
    expect(lost).toEqual([expect.objectContaining({ name: "StoreLostError" })]);
    await expect(alone.settle(settling("d"), backgroundCall())).rejects.toMatchObject({ code: "UNAVAILABLE" });
    const renewing = RenewRequest.create({ organisationId: tenant.organisationId, reservationIds: ["d"] });
    await expect(alone.renew(renewing, backgroundCall())).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});
