import { randomUUID } from "node:crypto";
import { PolicyDefinition, type ReserveReply, ReserveRequest, SettleRequest } from "@unigate/contracts";
import { backgroundCall, type Clock, type RateLimit, Secret } from "@unigate/core";
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
  "api_key free": [],
  "provider one-a-second": [{ type: "requests", unit: "rps", value: 1 }],
};

/** Saved things as the resolver would find them; the key "down" cannot be asked for. */
const resolver: PolicyDeps["resolver"] = {
  async resolve({ kind, id }: ResourceRef): Promise<Resolution<never> | null> {
    if (id === "down") throw new Error("control is down");
    const rate_limits = LIMITS[`${kind} ${id}`];
    return rate_limits === undefined ? null : { value: { rate_limits } as never, sealed: undefined, version: "1" };
  },
};

const redis = requirement("redis");
const redisLinks: RedisLink[] = [];
afterAll(() => {
  for (const link of redisLinks) link.close();
});

async function openLink(): Promise<RedisLink> {
  const link = await openRedis({ address: readRedisAddress(new Secret(redis.at)), name: "unigate-test", deadlineMs: 10_000 });
  redisLinks.push(link);
  return link;
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
        request: { allowed: true, policyId: "", bucket: "", status: 0, retryAfterMs: 0, shadow: false, code: "" },
        target: undefined,
        remaining: [{ policyId: "api_key/two-a-minute/requests/rpm", unit: "rpm", limit: 2, left: 1, resetsAt: MINUTE_END }],
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
      });
      now = MINUTE_END;
      expect((await reserve("two-a-minute")).request?.allowed).toBe(true);
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
      await connect({ reserve: gone, settle: gone });
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
  });
});
