import { createCacheService } from "@unigate/cache";
import { CacheDefinition, Entry, type LookupReply, LookupRequest, StoreRequest } from "@unigate/contracts";
import { backgroundCall } from "@unigate/core";
import { createMemoryKeyValue } from "@unigate/storage";
import { type Connection, runners } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

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
