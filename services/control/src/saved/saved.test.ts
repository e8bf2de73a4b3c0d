import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Ref } from "@unigate/contracts";
import { jsonOf, newId } from "@unigate/core";
import { createSealer } from "@unigate/secrets";
import { until } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openJournalStore } from "./journal/journal-store.ts";
import { nextOf, savedRow, TEST_KEY } from "./saved.fixture.ts";
import { type LiveSaved, openSaved } from "./saved.ts";
import { type SavedChange, SavedConflict, type SavedRow, type SavedStore, SavedUnavailable } from "./types.ts";

const silent = { info() {}, warn() {}, error() {} };
const sealer = createSealer(Buffer.alloc(32, 7));
const HASH = { a: "a".repeat(64), b: "b".repeat(64), c: "c".repeat(64) };
let folder: string;
let journal: SavedStore;
const opened: LiveSaved[] = [];
const told: Ref[] = [];
const logged: string[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "unigate-saved-"));
  journal = await openJournalStore({ folder, masterKey: TEST_KEY, clock: { now: () => 1 }, log: silent });
  told.length = 0;
  logged.length = 0;
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(store: SavedStore = journal, pollMs: number | null = null): Promise<LiveSaved> {
  const log = (_fields: object, text: string) => void logged.push(text);
  const saved = await openSaved({
    store,
    hub: { publish: (refs) => void told.push(...refs) },
    sealer,
    log: { info: log, error: log } as Parameters<typeof openSaved>[0]["log"],
    pollMs,
  });
  opened.push(saved);
  return saved;
}
function ref(kind: string, id: string, more: Partial<Ref> = {}): Ref {
  return { kind, id, tenant: { organisationId: "org-default", workspaceId: "ws" }, keyHash: Buffer.alloc(0), version: "", ...more };
}
const byHash = (hash: string) => ref("api_key", "", { keyHash: Buffer.from(hash, "hex"), tenant: undefined });
const names = () =>
  told
    .splice(0)
    .map(
      ({ kind, id, tenant, keyHash }) =>
        `${kind} ${tenant?.organisationId} ${id}${keyHash.length > 0 ? ` ${keyHash.toString("hex")[0]}` : ""}`,
    );
const put = (row: SavedRow): SavedChange[] => [{ put: row }];

describe("what is saved", () => {
  test("is found by id and by slug, in its organisation only, oldest first, right after the write", async () => {
    const saved = await open();
    const first = savedRow({ kind: "provider", id: "id-1", slug: "main", createdAt: 5 });
    const second = savedRow({ kind: "provider", id: "id-2", slug: "other", createdAt: 4 });
    await saved.write([...put(first), ...put(second)]);
    expect(saved.get("provider", "org-default", "main")).toBe(first);
    expect(saved.get("provider", "org-default", "id-1")).toBe(first);
    for (const name of ["main", "id-1"]) expect(saved.get("provider", "acme", name)).toBeUndefined();
    expect(saved.get("config", "org-default", "main")).toBeUndefined();
    expect(saved.list("provider", "org-default")).toEqual([second, first]);
    expect(saved.list("provider", "org-default")).toBe(saved.list("provider", "org-default"));
    expect(saved.list("provider", "acme")).toEqual([]);
    const renamed = nextOf(first, { slug: "new" });
    await saved.write([...put(renamed), { remove: second }]);
    expect(saved.get("provider", "org-default", "main")).toBeUndefined();
    expect(saved.get("provider", "org-default", "new")).toBe(renamed);
    expect(saved.list("provider", "org-default")).toEqual([renamed]);
  });

  test("a slug that passes from one thing to another is the new thing's", async () => {
    const saved = await open();
    const [one, two] = [savedRow({ id: "1", slug: "s" }), savedRow({ id: "2", slug: "s" })];
    await saved.write(put(one));
    await saved.write([...put(nextOf(one, { slug: "t" })), ...put(two)]);
    expect(saved.get("api_key", "org-default", "s")).toBe(two);
    expect(saved.get("api_key", "org-default", "t")?.id).toBe("1");
  });

  test("a conflict changes nothing and is told to nobody", async () => {
    const saved = await open();
    const row = savedRow({ id: "1" });
    await saved.write(put(row));
    told.length = 0;
    await expect(saved.write([...put(savedRow({ id: "2" })), ...put(row)])).rejects.toBeInstanceOf(SavedConflict);
    expect(saved.list("api_key", "org-default")).toEqual([row]);
    expect(told).toEqual([]);
  });

  test("is there again after a restart", async () => {
    const row = savedRow({ id: "1", keyHashes: [HASH.a] });
    const saved = await open();
    await saved.write(put(row));
    await saved.close();
    journal = await openJournalStore({ folder, masterKey: TEST_KEY, clock: { now: () => 1 }, log: silent });
    const again = await open();
    expect(again.get("api_key", "org-default", "1")).toEqual(row);
    expect(again.find(byHash(HASH.a))?.id).toBe("1");
    expect(again.size()).toBe(1);
  });
});

describe("for Resolve", () => {
  test("a key by each of its hashes and by its id; not by a hash that it had", async () => {
    const saved = await open();
    const key = savedRow({ id: "key-1", keyHashes: [HASH.a], resource: { id: "key-1" } });
    await saved.write(put(key));
    await saved.write(put(nextOf(key, { keyHashes: [HASH.b, HASH.a] })));
    for (const hash of [HASH.a, HASH.b]) expect(jsonOf(saved.find(byHash(hash))?.json ?? Buffer.from("0"))).toEqual({ id: "key-1" });
    expect(saved.find(ref("api_key", "key-1"))).toBe(saved.find(byHash(HASH.a)));
    expect(saved.find(ref("api_key", "key-1", { tenant: undefined }))).toBeDefined();
    expect(saved.find(ref("api_key", "key-1", { tenant: { organisationId: "acme", workspaceId: "" } }))).toBeUndefined();
    await saved.write(put(nextOf(nextOf(key), { keyHashes: [HASH.b] })));
    expect(saved.find(byHash(HASH.a))).toBeUndefined();
    expect(saved.find(byHash(HASH.b))).toBeDefined();
    await saved.write([{ remove: nextOf(nextOf(key)) }]);
    expect(saved.find(byHash(HASH.b))).toBeUndefined();
  });

  test("a workspace's own thing there only; an unseen one nowhere", async () => {
    const saved = await open();
    await saved.write([
      ...put(savedRow({ kind: "config", id: "all" })),
      ...put(savedRow({ kind: "config", id: "own", slug: "pc-own", workspaceId: "ws" })),
      ...put(savedRow({ kind: "config", id: "theirs", workspaceId: "other" })),
      ...put(savedRow({ kind: "config", id: "unseen", resource: null })),
    ]);
    const found = ["all", "own", "pc-own", "theirs", "unseen"].map((id) => saved.find(ref("config", id)) !== undefined);
    expect(found).toEqual([true, true, true, false, false]);
    expect(saved.items("config", "org-default").map(({ id }) => id)).toEqual(["all", "pc-own", "theirs"]);
  });

  test("an item stays the same until its row changes, and its version then is another", async () => {
    const saved = await open();
    const row = savedRow({ kind: "config", id: "pc-1" });
    await saved.write(put(row));
    const before = saved.find(ref("config", "pc-1"));
    await saved.write(put(savedRow({ kind: "config", id: "pc-2" })));
    expect(saved.find(ref("config", "pc-1"))).toBe(before);
    await saved.write(put(nextOf(row, { sealed: sealer.seal({ k: "v" }, "org-default", "x") })));
    expect(saved.find(ref("config", "pc-1"))?.version).not.toBe(before?.version);
    expect(saved.find(ref("config", "pc-1"))?.sealed).toBeDefined();
  });

  test("unknown keys are asked of nothing but memory", async () => {
    let asked = 0;
    const counted: SavedStore = { ...journal, versions: async () => (asked++, []), changesAfter: async () => (asked++, []) };
    const saved = await open(counted);
    const found = Array.from({ length: 10_000 }, (_, index) => saved.find(byHash(index.toString(16).padStart(64, "0"))));
    expect(found.filter((item) => item !== undefined)).toEqual([]);
    expect(asked).toBe(0);
  });
});

describe("what is told to watchers", () => {
  test("a key by all its hashes, the former ones too", async () => {
    const saved = await open();
    const key = savedRow({ id: "k", keyHashes: [HASH.a] });
    await saved.write(put(key));
    expect(names()).toEqual(["api_key org-default k a"]);
    await saved.write(put(nextOf(key, { keyHashes: [HASH.b, HASH.a] })));
    expect(names().sort()).toEqual(["api_key org-default k a", "api_key org-default k b"]);
    await saved.write(put(nextOf(nextOf(key), { keyHashes: [HASH.c] })));
    expect(names().sort()).toEqual(["api_key org-default k a", "api_key org-default k b", "api_key org-default k c"]);
  });

  test("a provider with its list, a policy with its set, a renamed thing by both names, an unseen one not at all", async () => {
    const saved = await open();
    const provider = savedRow({ kind: "provider", id: "id", slug: "main", organisationId: "acme" });
    await saved.write(put(provider));
    expect(names()).toEqual(["provider acme id", "provider acme main", "providers acme "]);
    await saved.write(put(nextOf(provider, { slug: "new" })));
    expect(names()).toEqual(["provider acme id", "provider acme main", "provider acme new", "providers acme "]);
    await saved.write(put(savedRow({ kind: "rate_limit_policy", id: "p" })));
    expect(names()).toEqual(["rate_limit_policy org-default p", "policy_set org-default org-default"]);
    const unseen = savedRow({ kind: "integration", id: "i", resource: null });
    await saved.write(put(unseen));
    await saved.write([{ remove: unseen }]);
    expect(names()).toEqual([]);
    await saved.write([{ remove: nextOf(provider) }]);
    expect(names()).toEqual(["provider acme id", "provider acme new", "providers acme "]);
  });
});

describe("a store with other writers", () => {
  /** A store whose polls can be held back or fail. */
  function shared() {
    let failing: Error | null = null;
    let gate: Promise<void> = Promise.resolve();
    const store: SavedStore = {
      ...journal,
      async changesAfter(seq) {
        if (failing !== null) throw failing;
        const changes = await journal.changesAfter(seq);
        await gate;
        return changes;
      },
    };
    return {
      store,
      fail: (error: Error | null) => {
        failing = error;
      },
      hold(): () => void {
        let release = (): void => {};
        gate = new Promise((resolve) => {
          release = resolve;
        });
        return release;
      },
    };
  }

  test("their changes come by themselves", async () => {
    const saved = await open(shared().store, 5);
    const row = savedRow({ id: newId("k-") });
    await journal.write(put(row));
    expect(await until("the change of another", () => saved.get("api_key", "org-default", row.id))).toEqual(row);
    await saved.write(put(nextOf(row)));
    await journal.write([{ remove: nextOf(row) }]);
    await until("its removal", () => saved.get("api_key", "org-default", row.id) === undefined);
  });

  test("a change is told at once, and once more for caches that asked a process that did not know it yet", async () => {
    const saved = await open(shared().store, 5);
    const times = (id: string) => told.filter((one) => one.id === id).length;
    await saved.write(put(savedRow({ id: "own" })));
    expect(times("own")).toBe(1);
    await journal.write(put(savedRow({ id: "theirs" })));
    await until("the change of another is told twice", () => times("theirs") === 2);
    await saved.write(put(savedRow({ id: "last" })));
    await until("the last one is told twice", () => times("last") === 2);
    expect([times("own"), times("theirs")]).toEqual([2, 2]);
  });

  test("an answer that was under way while a thing changed does not bring its past back", async () => {
    const { store, hold } = shared();
    const saved = await open(store, 5);
    const row = savedRow({ id: "k" });
    const release = hold();
    await journal.write(put(row));
    // The poll has read version 1 now, or will read what is newer.
    await saved.write(put(nextOf(row)));
    await saved.write([{ remove: nextOf(row) }]);
    expect(saved.get("api_key", "org-default", "k")).toBeUndefined();
    release();
    await journal.write(put(savedRow({ id: "last" })));
    await until("a change after it", () => saved.get("api_key", "org-default", "last"));
    expect(saved.get("api_key", "org-default", "k")).toBeUndefined();
  });

  test("a lost store: reads go on, writes are refused, one line when it goes and one when it is back", async () => {
    const { store, fail } = shared();
    const saved = await open(store, 5);
    const row = savedRow({ id: "k", keyHashes: [HASH.a] });
    await saved.write(put(row));
    fail(new SavedUnavailable("the database does not answer: gone"));
    await until("it is lost", () => !saved.reachable());
    expect(saved.find(byHash(HASH.a))).toBeDefined();
    await expect(saved.write(put(nextOf(row)))).rejects.toThrow(
      "the store of saved things does not answer; nothing can be changed until it is back",
    );
    await journal.write([{ remove: row }]);
    fail(null);
    await until("it is back", () => saved.reachable());
    expect(saved.find(byHash(HASH.a))).toBeUndefined();
    await saved.write(put(savedRow({ id: "next" })));
    expect(logged).toHaveLength(2);
    expect(logged[0]).toContain("does not answer");
    expect(logged[1]).toContain("answers again");
  });
});
