import { randomUUID } from "node:crypto";
import { type AddressInfo, createServer } from "node:net";
import { Secret } from "@unigate/core";
import { requirement, startWeatherProxy, until, type WeatherProxy } from "@unigate/testkit";
import { afterEach, describe, expect, test } from "vitest";
import type { SettleCall, Take } from "../counters/port.ts";
import { createRedisCounters } from "../counters/redis.ts";
import { createRedisKeyValue } from "../key-value/redis.ts";
import { readRedisAddress } from "./address.ts";
import { openRedis, type RedisLink } from "./link.ts";

const DAY = 86_400_000;
const redis = requirement("redis");
const cluster = requirement("redis-cluster");
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Tests that count give a busy machine time; tests of a loss have the deadline that users have. */
const PATIENT = { deadlineMs: 10_000 };

async function open(url: string, told: string[] = [], options: { deadlineMs?: number } = {}): Promise<RedisLink> {
  const link = await openRedis({
    ...options,
    address: readRedisAddress(new Secret(url)),
    name: "unigate-test",
    onLost: (why) => told.push(`lost: ${why}`),
    onBack: () => told.push("back"),
  });
  ends.push(() => link.close());
  return link;
}

function take(over: Partial<Take> = {}): Take {
  return { limitId: "limit", bucket: "", measure: "requests", windowMs: DAY, limit: 50, amount: 1, ...over };
}

function reserving(organisationId: string, request: Take, leaseMs = 60_000) {
  return { organisationId, reservationId: randomUUID(), attempt: 0, leaseMs, request: [request], target: null };
}

function settling(organisationId: string, reservationId: string): SettleCall {
  const use = { tokens: null, costMicro: null };
  return { organisationId, reservationId, attempt: 0, ...use, refundRequest: false, refundTarget: false, last: true };
}

describe.each([
  { name: "redis", needed: redis },
  { name: "redis-cluster", needed: cluster },
])("several gateways on one $name", ({ needed }) => {
  describe.skipIf(!needed.available)("count together", () => {
    test.each([
      ["requests", take()],
      ["concurrency", take({ windowMs: null })],
    ])("400 at once over 4 of them pass a limit of 50 (%s) exactly 50 times", async (_, limit) => {
      const organisationId = randomUUID();
      const links = await Promise.all([1, 2, 3, 4].map(() => open(needed.at, [], PATIENT)));
      const all = links.flatMap((link) => {
        const counters = createRedisCounters(link);
        return Array.from({ length: 100 }, () => counters.reserve(reserving(organisationId, limit)));
      });
      const results = await Promise.all(all);
      expect(results.filter(({ request }) => request?.allowed === true)).toHaveLength(50);
    });

    test("what a killed one held stays counted: its slots until the lease ends, its requests after", async () => {
      const organisationId = randomUUID();
      const killed = await open(needed.at, [], PATIENT);
      const counters = createRedisCounters(await open(needed.at, [], PATIENT));
      const slots = take({ limitId: "slots", windowMs: null, limit: 1 });
      const request = [take({ limit: 2 }), slots];
      await createRedisCounters(killed).reserve({ ...reserving(organisationId, slots, 500), request });
      killed.close();
      const attempt = () => counters.reserve({ ...reserving(organisationId, slots), request });
      expect((await attempt()).request).toMatchObject({ allowed: false, refusedAt: 1 });
      await until("the slot to be free", async () => (await attempt()).request?.allowed);
      expect((await attempt()).request?.remaining[0]?.left).toBe(0);
    });

    test("organisations share nothing", async () => {
      const counters = createRedisCounters(await open(needed.at, [], PATIENT));
      const [one, other] = [randomUUID(), randomUUID()];
      const call = { ...reserving(one, take({ limit: 1 })), reservationId: "same" };
      expect((await counters.reserve(call)).request?.allowed).toBe(true);
      expect((await counters.reserve({ ...call, organisationId: other })).request?.allowed).toBe(true);
      await counters.settle({ ...settling(one, "same"), refundRequest: true });
      expect((await counters.reserve(reserving(other, take({ limit: 1 })))).request?.allowed).toBe(false);
      expect((await counters.reserve(reserving(one, take({ limit: 1 })))).request?.allowed).toBe(true);
    });

    test("a forgotten script is sent again", async () => {
      const link = await open(needed.at, [], PATIENT);
      const counters = createRedisCounters(link);
      const organisationId = randomUUID();
      const left = async () => (await counters.reserve(reserving(organisationId, take()))).request?.remaining[0]?.left;
      expect(await left()).toBe(49);
      await link.run(async (client) => client.script("FLUSH"));
      expect(await Promise.all([left(), left(), left()])).toEqual([48, 47, 46]);
    });
  });
});

describe.skipIf(!redis.available)("Redis", () => {
  test("keeps nothing for ever, and nothing of what is settled but its windows", async () => {
    const link = await open(redis.at, [], PATIENT);
    const counters = createRedisCounters(link);
    const organisationId = randomUUID();
    const keys = () => link.run((client) => client.keys(`ug:{${organisationId}}:*`));
    const slots = take({ limitId: "slots", windowMs: null });
    const call = { ...reserving(organisationId, slots), request: [slots, take()], target: [{ ...slots, limitId: "target" }] };
    await counters.reserve(call);
    const found = await keys();
    expect(found).toHaveLength(4);
    for (const key of found) {
      const livesFor = await link.run((client) => client.pttl(key));
      expect(livesFor).toBeGreaterThan(0);
      expect(livesFor).toBeLessThan(2 * DAY);
    }
    await counters.settle(settling(organisationId, call.reservationId));
    expect(await keys()).toEqual([expect.stringContaining(":c:5:limit:")]);
  });

  test("tells the time itself", async () => {
    const link = await open(redis.at, [], PATIENT);
    const { request } = await createRedisCounters(link).reserve(reserving(randomUUID(), take()));
    const [seconds] = await link.run((client) => client.time());
    expect(request?.remaining[0]?.resetsAt).toBe(Math.ceil((seconds ?? 0) / 86_400) * DAY);
  });

  test("keeps values for their time, for all, up to their size", async () => {
    const [one, other] = await Promise.all(
      [open(redis.at, [], PATIENT), open(redis.at, [], PATIENT)].map(async (link) => createRedisKeyValue(await link)),
    );
    if (one === undefined || other === undefined) throw new Error("not connected");
    const key = `ug:{${randomUUID()}}:e:x`;
    const bytes = Buffer.from([0, 255, 10, 13, 128]);
    expect(await one.get(key)).toBeNull();
    expect(await one.set(key, bytes, 60_000)).toBe(true);
    expect(await other.get(key)).toEqual(bytes);
    expect(await other.peek(key)).toEqual(bytes);
    expect(await other.delete(key)).toBe(true);
    expect(await one.delete(key)).toBe(false);
    await one.set(key, bytes, 0.5);
    await until("the value to be over", async () => (await other.peek(key)) === null);
    expect(one.statistics()).toMatchObject({ hits: 0, misses: 1 });
    expect(other.statistics()).toMatchObject({ hits: 1, misses: 0 });
  });

  test("does not keep what is too big, nor what was there", async () => {
    const store = createRedisKeyValue(await open(redis.at, [], PATIENT), { maxEntryBytes: 100 });
    const key = `ug:{${randomUUID()}}:e:x`;
    expect(await store.set(key, Buffer.alloc(100), 60_000)).toBe(true);
    expect(await store.set(key, Buffer.alloc(101), 60_000)).toBe(false);
    expect(await store.get(key)).toBeNull();
    expect(store.statistics().refused).toBe(1);
  });

  test("that is slow to take bytes is not given more than it can hold", async () => {
    const link = await open(redis.at, [], PATIENT);
    const store = createRedisKeyValue(link, { maxWaitingBytes: 1_000 });
    const key = `ug:{${randomUUID()}}:e:`;
    const sets = ["a", "b"].map((end) => store.set(key + end, Buffer.alloc(600), 1_000));
    const [first, second] = await Promise.allSettled(sets);
    expect(first?.status).toBe("fulfilled");
    expect(second).toMatchObject({ status: "rejected", reason: { reason: "busy" } });
    expect(await store.set(`${key}c`, Buffer.alloc(600), 1_000)).toBe(true);
  });
});

/** A way to Redis that can be stalled and cut. */
async function wayTo(target: string): Promise<WeatherProxy & { readonly url: string }> {
  const proxy = await startWeatherProxy(target);
  ends.push(() => void proxy.close());
  return { ...proxy, url: `redis://${proxy.address}` };
}

describe.skipIf(!redis.available)("a Redis that is lost", () => {
  test("and hangs: calls fail within their deadline, then at once, and work again when it answers", async () => {
    const way = await wayTo(redis.at);
    const told: string[] = [];
    const link = await open(way.url, told);
    const counters = createRedisCounters(link);
    const organisationId = randomUUID();
    const reserve = () => counters.reserve(reserving(organisationId, take()));
    await reserve();
    way.stall(true);
    for (let index = 0; index < 5; index += 1) {
      const started = performance.now();
      await expect(reserve()).rejects.toMatchObject({ reason: "timeout" });
      expect(performance.now() - started).toBeLessThan(1_500);
    }
    await expect(reserve()).rejects.toMatchObject({ reason: "resting" });
    expect(link.statistics()).toMatchObject({ open: true, failures: { timeout: 5, resting: 1 } });
    way.stall(false);
    await until("Redis to be back", async () => (await reserve()).request?.allowed);
    expect(told).toEqual(["lost: no answer within 75 ms", "back"]);
    // What was sent before its deadline was counted, late: never more than was asked for, never twice.
    const left = (await reserve()).request?.remaining[0]?.left ?? 0;
    expect(left).toBeLessThanOrEqual(47);
    expect(left).toBeGreaterThanOrEqual(35);
  });

  test("and hangs for long: the connection is replaced, though nobody closed it", async () => {
    const way = await wayTo(redis.at);
    const link = await open(way.url);
    const ping = () => link.run(async (client) => client.ping());
    const idOf = () => link.run(async (client) => client.client("ID"));
    const before = await idOf();
    way.stall(true);
    await expect(ping()).rejects.toMatchObject({ reason: "timeout" });
    await until("the connection to be given up", () => ping().catch((error: Error) => /^not connected$|closed/.test(error.message)));
    way.stall(false);
    expect(await until("another connection", idOf)).not.toBe(before);
  });

  test("and is gone: calls fail at once, it is told once, and it comes back by itself", async () => {
    const way = await wayTo(redis.at);
    const told: string[] = [];
    const link = await open(way.url, told);
    const ping = () => link.run(async (client) => client.ping());
    await way.stop();
    await until("the loss to be seen", () => told.length > 0);
    const started = performance.now();
    for (let index = 0; index < 100; index += 1) await expect(ping()).rejects.toMatchObject({ name: "StoreLostError" });
    expect(performance.now() - started).toBeLessThan(1_000);
    await way.start();
    await until("Redis to be back", ping);
    expect(told).toEqual([expect.stringMatching(/^lost: /), "back"]);
  });
});

describe("a Redis that was never there", () => {
  test("is told, and no reason to wait for long", async () => {
    const told: string[] = [];
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const link = await open(`redis://user:hush-hush@127.0.0.1:${port}`, told);
    await expect(link.run(async (client) => client.ping())).rejects.toMatchObject({ reason: "failed" });
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("ECONNREFUSED");
    expect(told[0]).not.toContain("hush");
  });

  test("a password that an error repeats is cut out", async () => {
    const told: string[] = [];
    const server = createServer((socket) => {
      socket.on("error", () => {});
      const refuse = () => socket.write("-ERR no such user or hush-hush\r\n");
      socket.on("data", (bytes) => bytes.toString().match(/^\*/gm)?.forEach(refuse));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ends.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    await open(`redis://user:hush-hush@127.0.0.1:${port}`, told);
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("no such user or [secret]");
  });
});
