import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSealer } from "@unigate/secrets";
import { requirement } from "@unigate/testkit";
import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openJournalStore } from "./journal/journal-store.ts";
import type { PortableStore } from "./portable-store.ts";
import { textOfRow } from "./row-json.ts";
import { nextOf, savedRow, TEST_KEY } from "./saved.fixture.ts";
import { makeEmbedded, makeOnServer, type TestDatabase } from "./sql/sql-database.fixture.ts";
import { openSqlStore } from "./sql/sql-store.ts";
import { type SavedChange, SavedConflict, type SavedRow } from "./types.ts";

interface Place {
  /** Opens what is there, as a new start does. */
  open(): Promise<PortableStore>;
  /** Another process on the same place at the same time; null = there cannot be one. */
  another(): Promise<PortableStore | null>;
  /** Makes it empty. */
  empty(): Promise<void>;
  drop(): Promise<void>;
}

const postgres = requirement("postgres");
const pglite = requirement("pglite");
const silent = { info() {}, warn() {}, error() {} };

async function journalPlace(): Promise<Place> {
  const root = mkdtempSync(join(tmpdir(), "unigate-journal-"));
  let number = 0;
  return {
    open: () => openJournalStore({ folder: join(root, String(number)), masterKey: TEST_KEY, clock: { now: () => 1 }, log: silent }),
    another: async () => null,
    async empty() {
      number += 1;
    },
    drop: async () => rmSync(root, { recursive: true, force: true }),
  };
}

async function sqlPlace(make: () => Promise<TestDatabase>): Promise<Place> {
  const database = await make();
  const engine = database.engine();
  return {
    open: () => openSqlStore(engine, TEST_KEY),
    another: () => openSqlStore(database.engine(), TEST_KEY),
    async empty() {
      const { runSql } = await import("@unigate/sql");
      await runSql(await engine.database("control"), "drop schema if exists control cascade");
    },
    drop: () => database.drop(),
  };
}

const kinds = [
  { name: "journal", missing: false, place: journalPlace },
  { name: "PGlite", missing: !pglite.available, place: () => sqlPlace(makeEmbedded) },
  { name: "Postgres", missing: !postgres.available, place: () => sqlPlace(() => makeOnServer(postgres.at)) },
];

describe.for(kinds)("saved store: $name", ({ missing, place: makePlace }) => {
  describe.skipIf(missing)("as it is there", () => {
    let place: Place;
    let store: PortableStore;

    beforeAll(async () => {
      place = await makePlace();
    });
    beforeEach(async () => {
      await place.empty();
      store = await place.open();
    });
    afterEach(() => store.close());
    afterAll(() => place.drop());

    async function reopen(): Promise<void> {
      await store.close();
      store = await place.open();
    }
    const rows = async () => (await store.load()).rows.map(textOfRow).sort();
    const texts = (...all: SavedRow[]) => all.map(textOfRow).sort();
    async function conflictOf(...changes: SavedChange[]): Promise<string> {
      const reason: unknown = await store.write(changes).then(
        () => null,
        (error: unknown) => error,
      );
      if (!(reason instanceof SavedConflict)) throw new Error(`expected a conflict, found ${String(reason)}`);
      return reason.what;
    }

    test("is empty at first", async () => {
      expect(await store.load()).toEqual({ rows: [], seq: 0 });
      expect(await store.changesAfter(0)).toEqual([]);
      expect(await store.versions("config", "none")).toEqual([]);
    });

    test("what was written is there after a restart, just as it was", async () => {
      const sealed = createSealer(Buffer.alloc(32, 1)).seal({ api_key: "s" }, "org-default", "provider/p");
      const full = savedRow({
        kind: "provider",
        id: "id-1",
        slug: "p 'ö\"\n\\",
        workspaceId: "ws",
        resource: { b: 1, a: [null, "\0\ud800", { 10: 1, 9: 2 }], n: -0.5e-7 },
        details: { note: "é" },
        sealed,
        keyHashes: ["a".repeat(64), "b".repeat(64)],
      });
      const unseen = savedRow({ id: "id-2", resource: null });
      expect(await store.write([{ put: full }, { put: unseen }])).toBe(2);
      expect(await rows()).toEqual(texts(full, unseen));
      await reopen();
      expect(await rows()).toEqual(texts(full, unseen));
      expect((await store.load()).rows.find(({ id }) => id === "id-1")?.sealed).toEqual(sealed);
      expect((await store.load()).seq).toBe(2);
      expect(await store.write([{ put: nextOf(full) }])).toBe(3);
    });

    test("a change needs the version before it, a new thing a free id and slug", async () => {
      const one = savedRow({ id: "1", slug: "s" });
      await store.write([{ put: one }]);
      expect(await conflictOf({ put: one })).toBe("changed");
      expect(await conflictOf({ put: savedRow({ id: "2", slug: "s" }) })).toBe("slug_taken");
      expect(await conflictOf({ put: nextOf(nextOf(one)) })).toBe("changed");
      expect(await conflictOf({ put: { ...nextOf(one), organisationId: "other" } })).toBe("changed");
      expect(await conflictOf({ put: savedRow({ id: "3", version: 2 }) })).toBe("gone");
      expect(await conflictOf({ remove: { kind: "api_key", id: "1", version: 2 } })).toBe("changed");
      expect(await conflictOf({ remove: { kind: "api_key", id: "3", version: 1 } })).toBe("gone");
      const elsewhere = [savedRow({ id: "2", slug: "s", organisationId: "other" }), savedRow({ id: "1", slug: "s", kind: "config" })];
      await store.write(elsewhere.map((put) => ({ put })));
      const renamed = nextOf(one, { slug: "t" });
      await store.write([{ put: renamed }, { put: savedRow({ id: "4", slug: "s" }) }]);
      expect(await conflictOf({ put: nextOf(one) })).toBe("changed");
      await store.write([{ remove: renamed }]);
      expect(await conflictOf({ put: nextOf(renamed) })).toBe("gone");
      expect(await rows()).toEqual(texts(...elsewhere, savedRow({ id: "4", slug: "s" })));
      await reopen();
      expect(await rows()).toEqual(texts(...elsewhere, savedRow({ id: "4", slug: "s" })));
    });

    test("several changes happen all or not at all", async () => {
      const [a, b] = [savedRow({ id: "a" }), savedRow({ id: "b" })];
      await store.write([{ put: a }]);
      expect(await conflictOf({ remove: a }, { put: b }, { put: nextOf(b) }, { put: nextOf(a) })).toBe("gone");
      expect(await rows()).toEqual(texts(a));
      expect(await conflictOf({ put: b }, { put: savedRow({ id: "c", slug: "a" }) })).toBe("slug_taken");
      expect(await rows()).toEqual(texts(a));
      await store.write([
        { put: nextOf(a, { slug: "x" }) },
        { put: { ...b, slug: "a" } },
        { put: nextOf({ ...b, slug: "a" }, { slug: "b" }) },
      ]);
      expect(await rows()).toEqual(texts(nextOf(a, { slug: "x" }), nextOf({ ...b, slug: "a" }, { slug: "b" })));
      expect((await store.changesAfter(1)).map(({ seq, id, row }) => [seq, id, row?.version])).toEqual([
        [2, "a", 2],
        [4, "b", 2],
      ]);
    });

    test("what cannot be stored everywhere is refused with the place of the fault", async () => {
      await expect(store.write([{ put: savedRow({ id: "x", slug: "a\0b" }) }])).rejects.toThrow(
        'api_key "x" cannot be saved: slug: expected whole characters',
      );
      await expect(store.write([{ put: savedRow({ id: "x", keyHashes: ["no hash"] }) }])).rejects.toThrow("keyHashes.0");
      expect(await rows()).toEqual([]);
    });

    test("versions of a config, newest first, of it only, until it is removed", async () => {
      const first = savedRow({ kind: "config", id: "pc-1", resource: { v: 1 } });
      const all = [first, nextOf(first, { resource: { v: 2 } }), nextOf(nextOf(first), { resource: { v: 3 } })];
      for (const put of all) await store.write([{ put }]);
      const key = savedRow({ id: "pc-1" });
      await store.write([{ put: key }, { put: savedRow({ kind: "config", id: "pc-2" }) }]);
      await store.write([{ put: nextOf(key) }]);
      for (const open of [async () => {}, reopen]) {
        await open();
        expect((await store.versions("config", "pc-1")).map(textOfRow)).toEqual(all.toReversed().map(textOfRow));
        expect(await store.versions("config", "pc-2")).toHaveLength(1);
        expect(await store.versions("api_key", "pc-1")).toEqual([]);
      }
      const last = all[2];
      if (last !== undefined) await store.write([{ remove: last }]);
      expect(await store.versions("config", "pc-1")).toEqual([]);
    });

    test("the last 1,000 versions are kept", async () => {
      let row = savedRow({ kind: "config", id: "pc-1" });
      const changes: SavedChange[] = [{ put: row }];
      while (changes.length < 1_003) changes.push({ put: (row = nextOf(row)) });
      await store.write(changes);
      for (const open of [async () => {}, reopen]) {
        await open();
        const kept = await store.versions("config", "pc-1");
        expect([kept.length, kept[0]?.version, kept.at(-1)?.version]).toEqual([1_000, 1_003, 4]);
      }
    });

    test("changes after a number: each thing once, as it is now, in the order of their last changes", async () => {
      const [a, b, c] = [savedRow({ id: "a" }), savedRow({ id: "b" }), savedRow({ id: "c" })];
      await store.write([{ put: a }, { put: b }, { put: c }]);
      await store.write([{ put: nextOf(a) }]);
      await store.write([{ remove: b }]);
      const seen = async (after: number) => (await store.changesAfter(after)).map(({ seq, id, row }) => [seq, id, row?.version ?? null]);
      expect(await seen(0)).toEqual([
        [3, "c", 1],
        [4, "a", 2],
        [5, "b", null],
      ]);
      expect(await seen(4)).toEqual([[5, "b", null]]);
      expect(await seen(5)).toEqual([]);
    });

    test("two writers at once: one of two equal changes wins, and every other change happens", async () => {
      const other = (await place.another()) ?? store;
      const one = savedRow({ id: "1" });
      await store.write([{ put: one }]);
      const outcomes = await Promise.allSettled([
        ...[store, other, store, other].map((by, index) => by.write([{ put: nextOf(one, { details: { index } }) }])),
        ...Array.from({ length: 20 }, (_, index) => store.write([{ put: savedRow({ id: `n${index}` }) }])),
      ]);
      const won = outcomes.slice(0, 4).filter(({ status }) => status === "fulfilled");
      expect(won).toHaveLength(1);
      expect(outcomes.slice(4).every(({ status }) => status === "fulfilled")).toBe(true);
      const numbers = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
      expect(numbers.toSorted((left, right) => left - right)).toEqual(Array.from({ length: 21 }, (_, index) => index + 2));
      expect((await store.load()).rows).toHaveLength(21);
      if (other !== store) await other.close();
    });

    test("rows are taken over as they are, or none of them", async () => {
      const first = savedRow({ kind: "config", id: "pc-1", version: 6 });
      const [present, former] = [nextOf(first), [first]];
      const key = savedRow({ id: "k", slug: "name", version: 3 });
      expect(await store.adopt({ rows: [present, key], former })).toEqual({ added: 2, conflicts: [] });
      for (const open of [async () => {}, reopen]) {
        await open();
        expect(await rows()).toEqual(texts(present, key));
        expect((await store.versions("config", "pc-1")).map(({ version }) => version)).toEqual([7, 6]);
      }
      expect(await store.adopt({ rows: [present, key], former })).toEqual({ added: 0, conflicts: [] });
      const refused = await store.adopt({
        rows: [savedRow({ id: "new" }), nextOf(key), savedRow({ id: "other", slug: "name" })],
        former: [],
      });
      expect(refused.conflicts.map(({ index, message }) => `${index} ${message}`)).toEqual([
        "1 there is another api_key with the id k",
        '2 another api_key of the organisation org-default is named "name"',
      ]);
      expect(await rows()).toEqual(texts(present, key));
      const { rows: all, former: before } = await store.everything();
      expect(all.map(textOfRow).sort()).toEqual(texts(present, key));
      expect(before.map(textOfRow)).toEqual(texts(first));
      await store.write([{ put: nextOf(key) }]);
    });

    test("does what a naive model does", async () => {
      const name = fc.constantFrom("a", "b", "c");
      const step = fc.record({
        remove: fc.boolean(),
        kind: fc.constantFrom("api_key" as const, "config" as const),
        id: name,
        slug: name,
        version: fc.integer({ min: 1, max: 4 }),
      });
      const writes = fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { maxLength: 12 });
      const models: SavedRow[] = [];
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(writes, async (all) => {
          // Things of its own for each run: the store is not emptied between them.
          const organisationId = `org-${++runs}`;
          let model: SavedRow[] = [];
          for (const steps of all) {
            const changes = steps.map(({ remove, ...step }): SavedChange => {
              const row = savedRow({ ...step, id: `${step.id}-${runs}`, organisationId });
              return remove ? { remove: row } : { put: row };
            });
            const next = naive(model, changes);
            const outcome = await store.write(changes).catch((error: unknown) => error);
            expect(outcome instanceof SavedConflict ? outcome.what : "written").toBe(Array.isArray(next) ? "written" : next);
            if (Array.isArray(next)) model = next;
          }
          models.push(...model);
        }),
        { numRuns: 25 },
      );
      for (const open of [async () => {}, reopen]) {
        await open();
        expect(await rows()).toEqual(texts(...models));
      }
    });
  });
});

/** The rows after the changes, or why they cannot be made. */
function naive(before: readonly SavedRow[], changes: readonly SavedChange[]): SavedRow[] | string {
  let rows = [...before];
  for (const change of changes) {
    const row = "put" in change ? change.put : change.remove;
    const present = rows.find(({ kind, id }) => kind === row.kind && id === row.id);
    if ("remove" in change || change.put.version > 1) {
      if (present === undefined) return "gone";
      if (present.version !== ("remove" in change ? row.version : row.version - 1)) return "changed";
    } else if (present !== undefined) return "changed";
    rows = rows.filter((other) => other !== present);
    if ("remove" in change) continue;
    if (rows.some(({ kind, slug }) => kind === change.put.kind && slug === change.put.slug)) return "slug_taken";
    rows.push(change.put);
  }
  return rows;
}
