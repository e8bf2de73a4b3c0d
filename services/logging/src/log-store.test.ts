import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newUuid, Secret } from "@unigate/core";
import { type EncodedRecord, encodeRecord, type LogHead, newHead, readRecord } from "@unigate/events";
import { openSql, runSql, type SqlEngine } from "@unigate/sql";
import { requirement } from "@unigate/testkit";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LogFilter } from "./filter.ts";
import { openKeptLogStore } from "./kept/kept-log-store.ts";
import type { LogSelection, LogStore, Position } from "./log-store.ts";
import { createLogStore } from "./memory/memory-log-store.ts";
import { openSqlLogStore } from "./open-sql-log-store.ts";

const NOW = Date.UTC(2026, 4, 20, 12);
const DAY = 86_400_000;
const postgres = requirement("postgres");
const pglite = requirement("pglite");

interface Kind {
  readonly name: string;
  readonly missing: boolean;
  open(): Promise<{ store: LogStore; close(): Promise<void> }>;
}

async function overSql(engine: SqlEngine): Promise<LogStore> {
  return openSqlLogStore({ engine, clock: { now: () => NOW }, onTrouble() {} });
}

const kinds: Kind[] = [
  { name: "memory", missing: false, open: async () => ({ store: createLogStore(), close: async () => {} }) },
  {
    name: "files",
    missing: false,
    async open() {
      const folder = mkdtempSync(join(tmpdir(), "unigate-logs-"));
      const store = openKeptLogStore({
        folder,
        onTrouble(error) {
          throw error;
        },
      });
      return {
        store,
        async close() {
          await store.close();
          rmSync(folder, { recursive: true, force: true });
        },
      };
    },
  },
  {
    name: "PGlite",
    missing: !pglite.available,
    async open() {
      const dataDir = mkdtempSync(join(tmpdir(), "unigate-logs-"));
      const engine = openSql({ url: null, dataDir, onEvent() {} });
      return {
        store: await overSql(engine),
        async close() {
          await engine.close();
          rmSync(dataDir, { recursive: true, force: true });
        },
      };
    },
  },
  {
    name: "Postgres",
    missing: !postgres.available,
    async open() {
      const name = `unigate_test_${process.pid}_${Math.trunc(performance.now())}`;
      const server = openSql({ url: new Secret(postgres.at), dataDir: "", onEvent() {} });
      await runSql(await server.database("control"), `create database ${name}`);
      const url = Object.assign(new URL(postgres.at), { pathname: `/${name}` });
      const engine = openSql({ url: new Secret(url.href), dataDir: "", onEvent() {} });
      return {
        store: await overSql(engine),
        async close() {
          await engine.close();
          await runSql(await server.database("control"), `drop database ${name} with (force)`);
          await server.close();
        },
      };
    },
  },
];

/** An organisation of its own for each test: all share one store. */
let organisations = 0;
const newOrganisation = (): string => `org-${process.pid}-${++organisations}`;

function record(more: Partial<LogHead>, body: Buffer | null = null): EncodedRecord {
  const head = { ...newHead(newUuid(), NOW), workspace_id: "ws", ...more };
  const request = body === null ? null : { headers: { a: "b" }, body, json: true, truncated: false };
  const read = readRecord(encodeRecord({ head, request, response: null }));
  if (!read.ok) throw new Error(read.detail);
  return read.record;
}

function newestFirst(left: Position, right: Position): number {
  return right.time - left.time || (left.id < right.id ? 1 : -1);
}

describe.each(kinds.filter(({ missing }) => !missing))("log store: $name", ({ open }) => {
  let opened: Awaited<ReturnType<typeof open>>;
  let store: LogStore;

  beforeAll(async () => {
    opened = await open();
    store = opened.store;
  });
  afterAll(async () => {
    await store.close();
    await opened.close();
  });

  async function page(organisationId: string, more: Partial<LogSelection> = {}) {
    const selection = { tenant: { organisationId, workspaceId: "" }, from: 0, to: 0, filter: {}, after: null, limit: 20, ...more };
    const found = await store.list(selection);
    if (found.kind !== "page") throw new Error(found.kind);
    return found;
  }
  const idsOf = async (...args: Parameters<typeof page>) => (await page(...args)).rows.map(({ id }) => id);

  async function allPages(organisationId: string, limit: number, between: (page: number) => Promise<unknown> = async () => {}) {
    const ids: string[] = [];
    let after: Position | null = null;
    for (let number = 0; ; number++) {
      const { rows, hasMore }: Awaited<ReturnType<typeof page>> = await page(organisationId, { limit, after });
      ids.push(...rows.map(({ id }) => id));
      expect(rows.length).toBe(hasMore ? limit : rows.length);
      if (!hasMore) return ids;
      after = rows.at(-1) ?? null;
      await between(number);
    }
  }

  describe("bodies that come apart", () => {
    const TEXT = "a text that is long enough to be kept apart from its record ".repeat(5);
    const bodies = (id: string, organisationId: string, text = TEXT) => ({
      id,
      time: NOW,
      organisationId,
      tail: `,"request":{"headers":null,"body":${JSON.stringify(text)},"truncated":false},"response":null}`,
    });
    const bodyOf = async (organisationId: string, id: string) => {
      const found = await store.get({ organisationId, workspaceId: "" }, id);
      if (found === null) throw new Error("no record");
      return (JSON.parse(found.bytes.toString("utf8")) as { request: unknown }).request;
    };
    const given = (text = TEXT) => ({ headers: null, body: text, truncated: false });
    const missing = { headers: null, body: null, truncated: true };

    test.each(["before", "after"])("%s their record are its bodies, once", async (when) => {
      const organisation_id = newOrganisation();
      const one = { ...record({ organisation_id }), bodiesApart: true };
      const { id } = one.head;
      const addBodies = () => store.addBodies([bodies(id, organisation_id)]);
      if (when === "before") expect(await addBodies()).toMatchObject({ stored: 1, duplicates: 0, refused: 0 });
      expect(await store.add([one])).toMatchObject({ stored: 1 });
      expect(await bodyOf(organisation_id, id)).toEqual(when === "before" ? given() : missing);
      if (when === "after") expect(await addBodies()).toMatchObject({ stored: 1, duplicates: 0, refused: 0 });
      expect(await addBodies()).toMatchObject({ stored: 0, duplicates: 1 });
      expect(await store.add([one])).toMatchObject({ stored: 0, duplicates: 1 });
      expect(await store.addBodies([bodies(id, organisation_id, "another text")])).toMatchObject({ stored: 0, duplicates: 1 });
      expect(await bodyOf(organisation_id, id)).toEqual(given());
      expect(await idsOf(organisation_id)).toEqual([id]);
    });

    test("short ones too, and never another organisation's", async () => {
      const organisation_id = newOrganisation();
      const [one, other] = [record({ organisation_id }), record({ organisation_id })];
      await store.add([one, other].map((record) => ({ ...record, bodiesApart: true })));
      await store.addBodies([bodies(one.head.id, organisation_id, "x"), bodies(other.head.id, newOrganisation())]);
      expect(await bodyOf(organisation_id, one.head.id)).toEqual(given("x"));
      expect(await bodyOf(organisation_id, other.head.id)).toEqual(missing);
    });
  });

  test("each record once, newest first, whatever came when and how often", async () => {
    const times = [0, 1, 1, DAY, DAY + 5, 3 * DAY, 29 * DAY];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat(40), { maxLength: 30 }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 9 }),
        async (batches, limit) => {
          const organisation_id = newOrganisation();
          const of = (number: number) => ({ id: `${organisation_id}/${number}`, time: NOW - (times[number % times.length] ?? 0) });
          const known = new Map<string, Position>();
          for (const batch of batches) {
            const fresh = new Set(batch.map((number) => of(number).id).filter((id) => !known.has(id)));
            const outcome = await store.add(batch.map((number) => record({ ...of(number), organisation_id })));
            expect(outcome).toEqual({ stored: fresh.size, duplicates: batch.length - fresh.size, expired: 0, refused: 0, detail: "" });
            for (const number of batch) known.set(of(number).id, of(number));
          }
          expect(await allPages(organisation_id, limit)).toEqual([...known.values()].sort(newestFirst).map(({ id }) => id));
        },
      ),
      { numRuns: 15 },
    );
  });

  test("pages stay in step while records come, newer and older ones", async () => {
    const organisation_id = newOrganisation();
    const ids = Array.from({ length: 45 }, (_, index) => `${organisation_id}-${String(index).padStart(3, "0")}`);
    await store.add(ids.map((id, index) => record({ id, organisation_id, time: NOW - 1_000 + Math.floor(index / 4) })));
    const late: string[] = [];
    const seen = await allPages(organisation_id, 10, async (number) => {
      await store.add([record({ organisation_id, time: NOW + number })]);
      const old = record({ organisation_id, time: NOW - 5_000 - number });
      late.push(old.head.id);
      await store.add([old]);
    });
    // Newer ones are before the first page; older ones come in their place, at the end.
    expect(seen).toEqual([...ids.toReversed(), ...late.slice(0, seen.length - ids.length)]);
    expect(seen.length).toBeGreaterThan(ids.length);
  });

  test("every filter and all of them together", async () => {
    const organisation_id = newOrganisation();
    const pick = <T>(...values: T[]) => fc.constantFrom(...values);
    const heads = fc.sample(
      fc.record({
        trace_id: pick("t1", "t2", ""),
        provider: pick("openai", "main", null),
        provider_slug: pick("main", null),
        model: pick("gpt", "claude", null),
        response_model: pick("gpt", null),
        status: pick(200, 429, 0),
        api_key_id: pick("k1", "k2", null),
        workspace_id: pick("ws", "other"),
        time: pick(NOW, NOW - 1, NOW - DAY),
      }),
      { numRuns: 120, seed: 7 },
    );
    const records = heads.map((head) => record({ ...head, organisation_id }));
    await store.add(records);
    const option = <T>(...values: T[]) => fc.option(fc.constantFrom(...values), { nil: undefined, freq: 2 });
    const filters = fc.record({
      trace_id: option("t1", "none"),
      provider: option("openai", "main"),
      model: option("gpt", "claude"),
      status: option(200, 429),
      api_key_id: option("k1", "none"),
    });
    await fc.assert(
      fc.asyncProperty(filters, pick("", "ws", "none"), pick(0, NOW - 1), pick(0, NOW), async (given, workspaceId, from, to) => {
        const filter = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as LogFilter;
        const expected = records
          .map(({ head }) => head)
          .filter((head) => workspaceId === "" || head.workspace_id === workspaceId)
          .filter((head) => head.time >= from && (to === 0 || head.time < to))
          .filter((head) => filter.trace_id === undefined || head.trace_id === filter.trace_id)
          .filter((head) => filter.provider === undefined || [head.provider, head.provider_slug].includes(filter.provider))
          .filter((head) => filter.model === undefined || [head.model, head.response_model].includes(filter.model))
          .filter((head) => filter.status === undefined || head.status === filter.status)
          .filter((head) => filter.api_key_id === undefined || head.api_key_id === filter.api_key_id)
          .sort(newestFirst);
        const found = await page(organisation_id, {
          tenant: { organisationId: organisation_id, workspaceId },
          from,
          to,
          filter,
          limit: 15,
        });
        expect(found.rows.map(({ id }) => id)).toEqual(expected.slice(0, 15).map(({ id }) => id));
        expect(found.hasMore).toBe(expected.length > 15);
        expect(found.rows.map(({ head }) => JSON.parse(head) as LogHead)).toEqual(expected.slice(0, 15));
      }),
      { numRuns: 60 },
    );
  });

  test("the wall between tenants: nobody lists or gets another's record, by any filter, cursor or id", async () => {
    const [mine, other] = [newOrganisation(), newOrganisation()];
    const trace_id = `trace-${mine}`;
    const records = [mine, other, ""].flatMap((organisation_id) =>
      ["ws", "ws2", ""].map((workspace_id) => record({ organisation_id, workspace_id, trace_id, time: NOW - 3 }, Buffer.from('"secret"'))),
    );
    await store.add(records);
    const tenants = [mine, other, `${mine} `, "' or true --", "%"].flatMap((organisationId) =>
      ["", "ws", "ws2", "none", "' or true --", "%"].map((workspaceId) => ({ organisationId, workspaceId })),
    );
    for (const tenant of tenants) {
      const sees = records
        .map(({ head }) => head)
        .filter((head) => head.organisation_id === tenant.organisationId)
        .filter((head) => tenant.workspaceId === "" || head.workspace_id === tenant.workspaceId)
        .map(({ id }) => id);
      for (const filter of [{}, { trace_id }]) {
        expect((await idsOf(mine, { tenant, filter })).toSorted()).toEqual(sees.toSorted());
        const beyond = await idsOf(mine, { tenant, filter, after: { time: NOW, id: "~" } });
        expect(beyond.toSorted()).toEqual(sees.toSorted());
      }
      for (const { head } of records) expect((await store.get(tenant, head.id)) !== null).toBe(sees.includes(head.id));
    }
  });

  test("a record comes back byte for byte, small or large, with bodies or without", async () => {
    const organisation_id = newOrganisation();
    const texts = [null, "null", '{"a":"\\u0000\\ud83d\\ude00 é 漢"}', JSON.stringify("x".repeat(250_000))];
    for (const text of texts) {
      const given = record({ organisation_id }, text === null ? null : Buffer.from(text));
      await store.add([given]);
      const found = await store.get({ organisationId: organisation_id, workspaceId: "ws" }, given.head.id);
      expect(found?.bytes.equals(given.bytes)).toBe(true);
      expect(JSON.parse(found?.head ?? "")).toEqual(given.head);
    }
    expect(await store.get({ organisationId: organisation_id, workspaceId: "ws" }, "none")).toBeNull();
  });

  test("what clients send into a record cannot stop it from being stored and found", async () => {
    const organisation_id = newOrganisation();
    const strange = [
      "\0",
      "a\0b",
      "\ud800",
      "x".repeat(5_000),
      "é".repeat(300),
      `${"x".repeat(5_000)}y`,
      "\udc00",
      "'; drop table logs.records; --",
      "\\",
      '"',
      "😀".repeat(150),
    ];
    for (const text of strange) {
      const given = record({ organisation_id, trace_id: text, model: text, api_key_id: text }, Buffer.from('"\0"'));
      const plain = record({ organisation_id });
      expect(await store.add([plain, given])).toMatchObject({ stored: 2, refused: 0 });
      for (const filter of [{ trace_id: text }, { model: text }, { api_key_id: text }])
        expect(await idsOf(organisation_id, { filter })).toEqual([given.head.id]);
      expect(JSON.parse((await store.get({ organisationId: organisation_id, workspaceId: "" }, given.head.id))?.head ?? "")).toEqual(
        JSON.parse(JSON.stringify(given.head)),
      );
    }
  });

  test("a batch of thousands", async () => {
    const organisation_id = newOrganisation();
    const records = Array.from({ length: 2_500 }, (_, index) => record({ organisation_id, time: NOW - index * 100_000 }));
    expect(await store.add(records)).toMatchObject({ stored: 2_500, duplicates: 0 });
    expect(await store.add(records.slice(1_000, 1_900))).toMatchObject({ stored: 0, duplicates: 900 });
    expect(await store.add([])).toMatchObject({ stored: 0 });
    expect(await allPages(organisation_id, 100)).toEqual(records.map(({ head }) => head.id));
  });
});
