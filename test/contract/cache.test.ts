import { randomUUID } from "node:crypto";
import { createCacheService } from "@unigate/cache";
import { CacheDefinition, Entry, type LookupReply, LookupRequest, StoreRequest } from "@unigate/contracts";
import { backgroundCall, Secret, systemClock } from "@unigate/core";
import { createMemoryKeyValue, createRedisKeyValue, openRedis, type RedisLink, readRedisAddress } from "@unigate/storage";
import { type Connection, requirement, runners } from "@unigate/testkit";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";

const START = Date.parse("2026-03-04T05:06:07.890Z");
const TENANT = { organisationId: "org-a", workspaceId: "ws-1" };
const KEY = Buffer.alloc(32, 7);
const ENTRY = Entry.create({
  body: Buffer.from('{"choices":[]}'),
  headers: [
    { name: "x-one", value: "1" },
    { name: "x-one", value: "2" },
  ],
  usage: { input: 3, outputText: 4, units: { seconds: 1.5 } },
  costMicro: 0,
  surface: "chat",
});

describe.each(runners)("cache over $name", (runner) => {
  let now = START;
  const clock = { now: () => now };
  let store = createMemoryKeyValue({ clock });
  let connection: Connection<typeof CacheDefinition>;

  beforeEach(async () => {
    now = START;
    store = createMemoryKeyValue({ clock, maxEntryBytes: 10_000 });
    connection = await runner.connect(CacheDefinition, createCacheService({ store, clock }));
  });
  afterEach(() => connection.close());

  function lookup(over: Parameters<typeof LookupRequest.create>[0] = {}): Promise<LookupReply> {
    return connection.port.lookup(LookupRequest.create({ tenant: TENANT, exactKey: KEY, ...over }), backgroundCall());
  }

  async function tokenOf(reply: Promise<LookupReply>): Promise<string> {
    const { outcome } = await reply;
    if (outcome?.$case !== "fillToken") throw new Error("no fill token");
    return outcome.value;
  }

  async function keep(entry: Entry = ENTRY, over: Parameters<typeof StoreRequest.create>[0] = {}): Promise<void> {
    const fillToken = await tokenOf(lookup());
    await connection.port.store(StoreRequest.create({ tenant: TENANT, fillToken, entry, ...over }), backgroundCall());
  }

  test("a stored answer is found again, as it was", async () => {
    expect((await lookup()).status).toBe("MISS");
    await keep();
    const hit = await lookup();
    expect(hit).toEqual({ outcome: { $case: "hit", value: { ...ENTRY, storedAt: START } }, status: "HIT" });
  });

  test("another organisation, partition or key finds nothing; another workspace finds it", async () => {
    await keep();
    const others = [
      { tenant: { organisationId: "org-b", workspaceId: "ws-1" } },
      { partition: "shop" },
      { exactKey: Buffer.alloc(32, 8) },
      { tenant: { organisationId: "org-a", workspaceId: "ws-2" } },
    ];
    const statuses = [];
    for (const other of others) statuses.push((await lookup(other)).status);
    expect(statuses).toEqual(["MISS", "MISS", "MISS", "HIT"]);
  });

  test("a refresh forgets what was stored and gives a token", async () => {
    await keep();
    const refreshed = await lookup({ refresh: true });
    expect(refreshed).toMatchObject({ outcome: { $case: "fillToken" }, status: "REFRESH" });
    expect((await lookup()).status).toBe("MISS");
    const fillToken = await tokenOf(Promise.resolve(refreshed));
    await connection.port.store(StoreRequest.create({ tenant: TENANT, fillToken, entry: ENTRY }), backgroundCall());
    expect((await lookup()).status).toBe("HIT");
  });

  test("a peek gives no token, changes nothing and is not counted", async () => {
    expect(await lookup({ peek: true })).toEqual({ outcome: undefined, status: "MISS" });
    await keep();
    const before = store.statistics();
    expect(await lookup({ peek: true, refresh: true })).toEqual({ outcome: undefined, status: "REFRESH" });
    expect(await lookup({ peek: true })).toMatchObject({ outcome: { $case: "hit" }, status: "HIT" });
    expect(store.statistics()).toEqual(before);
  });

  test("an entry lives as long as it was stored for", async () => {
    await keep(ENTRY, { maxAgeS: 60 });
    now += 60_000;
    expect((await lookup()).status).toBe("HIT");
    now += 1;
    expect((await lookup()).status).toBe("MISS");
  });

  test("a request takes no entry that is older than it likes, and leaves it to others", async () => {
    await keep();
    now += 61_000;
    expect((await lookup({ maxAgeS: 60 })).status).toBe("MISS");
    expect((await lookup({ maxAgeS: 3_600 })).status).toBe("HIT");
    now = START + 604_800_001;
    expect((await lookup()).status).toBe("MISS");
  });

  test("no token leads into another organisation", async () => {
    const stranger = { organisationId: "org-b", workspaceId: "ws-1" };
    const fillToken = await tokenOf(lookup());
    for (const token of [fillToken, "", "noise"]) {
      const request = StoreRequest.create({ tenant: stranger, fillToken: token, entry: ENTRY });
      await expect(connection.port.store(request, backgroundCall())).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(store.statistics().entries).toBe(0);
  });

  test("an answer that is too big is left out", async () => {
    await keep({ ...ENTRY, body: Buffer.alloc(10_000) });
    expect((await lookup()).status).toBe("MISS");
  });

  test("an entry that cannot be read is a miss", async () => {
    await keep();
    const damaged = { ...store, get: async () => Buffer.from([0xff, 0xff, 0xff]) };
    const other = await runner.connect(CacheDefinition, createCacheService({ store: damaged, clock }));
    const reply = await other.port.lookup(LookupRequest.create({ tenant: TENANT, exactKey: KEY }), backgroundCall());
    expect(reply.status).toBe("MISS");
    await other.close();
  });

  test("a request without tenant or key is refused", async () => {
    await expect(lookup({ exactKey: Buffer.alloc(0) })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    const nobody = LookupRequest.create({ exactKey: KEY });
    await expect(connection.port.lookup(nobody, backgroundCall())).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

const redis = requirement("redis");

describe.skipIf(!redis.available)("two caches on one Redis", () => {
  const links: RedisLink[] = [];
  const tenant = { organisationId: "", workspaceId: "ws-1" };
  beforeEach(() => {
    tenant.organisationId = randomUUID();
  });
  afterAll(() => {
    for (const link of links) link.close();
  });

  async function openLink(): Promise<RedisLink> {
    const link = await openRedis({ address: readRedisAddress(new Secret(redis.at)), name: "unigate-test", deadlineMs: 10_000 });
    links.push(link);
    return link;
  }
  const cacheOn = (link: RedisLink) => createCacheService({ store: createRedisKeyValue(link), clock: systemClock });
  const lookup = (cache: ReturnType<typeof cacheOn>, over: Parameters<typeof LookupRequest.create>[0] = {}) =>
    cache.lookup(LookupRequest.create({ tenant, exactKey: KEY, ...over }), backgroundCall());
  const tokenOf = (reply: LookupReply): string => (reply.outcome?.$case === "fillToken" ? reply.outcome.value : "");
  const store = (cache: ReturnType<typeof cacheOn>, fillToken: string, maxAgeS = 0) =>
    cache.store(StoreRequest.create({ tenant, fillToken, entry: ENTRY, maxAgeS }), backgroundCall());

  test("the token of one is good at the other, and what one keeps the other finds", async () => {
    const [one, other] = [cacheOn(await openLink()), cacheOn(await openLink())];
    await store(other, tokenOf(await lookup(one)));
    const hit = await lookup(one);
    expect(hit).toMatchObject({
      status: "HIT",
      outcome: { value: { headers: ENTRY.headers, usage: ENTRY.usage, costMicro: 0, surface: "chat" } },
    });
    expect(hit.outcome?.$case === "hit" && Buffer.from(hit.outcome.value.body).equals(ENTRY.body)).toBe(true);
  });

  test("a refresh at one forgets for both", async () => {
    const [one, other] = [cacheOn(await openLink()), cacheOn(await openLink())];
    await store(one, tokenOf(await lookup(one)));
    const token = tokenOf(await lookup(other, { refresh: true }));
    expect((await lookup(one)).status).toBe("MISS");
    await store(other, token);
    expect((await lookup(one)).status).toBe("HIT");
  });

  test("organisations and namespaces stay apart", async () => {
    const cache = cacheOn(await openLink());
    await store(cache, tokenOf(await lookup(cache)));
    expect((await lookup(cache, { partition: "shop" })).status).toBe("MISS");
    expect((await lookup(cache, { tenant: { ...tenant, organisationId: randomUUID() } })).status).toBe("MISS");
    expect((await lookup(cache)).status).toBe("HIT");
  });

  test("Redis forgets an entry when its time is over", async () => {
    const link = await openLink();
    const cache = cacheOn(link);
    await store(cache, tokenOf(await lookup(cache)), 60);
    const [key = ""] = await link.run((client) => client.keys(`ug:{${tenant.organisationId}}:*`));
    const livesFor = await link.run((client) => client.pttl(key));
    expect(livesFor).toBeGreaterThan(30_000);
    expect(livesFor).toBeLessThanOrEqual(60_000);
  });

  test("without Redis everything is a miss, and storing is harmless", async () => {
    const link = await openLink();
    link.close();
    const cache = cacheOn(link);
    expect((await lookup(cache)).status).toBe("MISS");
    expect((await lookup(cache, { peek: true })).status).toBe("MISS");
    const refreshed = await lookup(cache, { refresh: true });
    expect(refreshed).toMatchObject({ status: "REFRESH", outcome: { $case: "fillToken" } });
    await store(cache, tokenOf(refreshed));
  });
});
