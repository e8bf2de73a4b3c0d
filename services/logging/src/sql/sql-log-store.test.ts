import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newUuid, Secret } from "@unigate/core";
import { type EncodedRecord, encodeRecord, type LogHead, newHead, readRecord } from "@unigate/events";
import { openSql, runSql, type SqlEngine } from "@unigate/sql";
import { requirement } from "@unigate/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { dayOf, dayOfName, nameOfDay, startOfDay } from "./days.ts";
import { insertRows } from "./insert.ts";
import { logMigrations } from "./migrations.ts";
import { rowOf } from "./row.ts";
import { selectPage } from "./select.ts";
import { createSqlLogStore, type SqlLogStore } from "./sql-log-store.ts";

const NOW = Date.UTC(2026, 4, 20, 12);
const DAY = 86_400_000;
const TENANT = { organisationId: "org", workspaceId: "ws" };
const postgres = requirement("postgres");
const pglite = requirement("pglite");

function record(more: Partial<LogHead> = {}, body: string | null = null): EncodedRecord {
  const head = { ...newHead(newUuid(), NOW), organisation_id: "org", workspace_id: "ws", ...more };
  const message = body === null ? null : { headers: null, body: Buffer.from(JSON.stringify(body)), json: true, truncated: false };
  const read = readRecord(encodeRecord({ head, request: message, response: null }));
  if (!read.ok) throw new Error(read.detail);
  return read.record;
}

async function partitions(engine: SqlEngine): Promise<string[]> {
  const { rows } = await runSql<{ name: string }>(
    await engine.database("logs"),
    "select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid where relkind = 'r' order by 1",
  );
  return rows.map(({ name }) => name);
}

const kinds = [
  { name: "PGlite", missing: !pglite.available },
  { name: "Postgres", missing: !postgres.available },
];

describe.for(kinds)("log store over $name", ({ name: kind, missing }) => {
  describe.skipIf(missing)("as it is there", () => {
    let folder: string;
    let now: number;
    let url: Secret | null;
    let engine: SqlEngine;
    let store: SqlLogStore;
    let trouble: unknown[];
    const opened: SqlEngine[] = [];

    function engineOf(to: Secret | null): SqlEngine {
      const one = openSql({ url: to, dataDir: folder, onEvent() {} });
      opened.push(one);
      return one;
    }
    const storeOn = (on: SqlEngine, retention = {}) =>
      createSqlLogStore({ engine: on, clock: { now: () => now }, retention, onTrouble: (error) => void trouble.push(error) });
    const get = async (id: string) => {
      const found = await store.get(TENANT, id);
      return found === null
        ? null
        : (JSON.parse(found.bytes.toString("utf8")) as { request: { body: unknown; truncated: boolean } | null });
    };

    const database = `unigate_test_logs_${process.pid}`;
    async function onServer(text: string): Promise<void> {
      const server = openSql({ url: new Secret(postgres.at), dataDir: "", onEvent() {} });
      await runSql(await server.database("control"), text);
      await server.close();
    }

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "unigate-logs-"));
      url = null;
      if (kind === "Postgres") {
        await onServer(`drop database if exists ${database} with (force)`);
        await onServer(`create database ${database}`);
        url = new Secret(Object.assign(new URL(postgres.at), { pathname: `/${database}` }).href);
      }
      engine = engineOf(url);
    });
    beforeEach(async () => {
      now = NOW;
      trouble = [];
      await runSql(await engine.database("logs"), "drop schema if exists logs cascade");
      store = storeOn(engine);
    });
    afterEach(() => store.close());
    afterAll(async () => {
      for (const one of opened.splice(0)) await one.close();
      if (kind === "Postgres") await onServer(`drop database if exists ${database} with (force)`);
      rmSync(folder, { recursive: true, force: true });
    });

    test("bodies go after 7 days, records after 30, by whole days; late ones are counted", async () => {
      const old = record({ time: NOW - 6 * DAY }, "old ".repeat(100));
      const older = record({ time: NOW - 29 * DAY }, "older ".repeat(100));
      const recent = record({}, "recent ".repeat(100));
      expect(await store.add([old, older, recent])).toMatchObject({ stored: 3, expired: 0 });
      expect(await get(old.head.id)).toMatchObject({ request: { body: "old ".repeat(100) } });
      expect(await get(older.head.id)).toMatchObject({ request: { body: null, truncated: true } });

      now += 2 * DAY;
      await store.maintain();
      expect(await get(old.head.id)).toMatchObject({ request: { body: null, truncated: true } });
      expect(await get(recent.head.id)).toMatchObject({ request: { body: "recent ".repeat(100) } });
      expect(await get(older.head.id)).toBeNull();
      expect(await store.add([older])).toMatchObject({ stored: 0, expired: 1, refused: 0 });

      now += 40 * DAY;
      await store.maintain();
      const page = await store.list({ tenant: TENANT, from: 0, to: 0, filter: {}, after: null, limit: 10 });
      expect(page).toEqual({ kind: "page", rows: [], hasMore: false });
      const days = [0, 1, 2].map((ahead) => nameOfDay(dayOf(now) + ahead));
      expect(await partitions(engine)).toEqual(["bodies", "records"].flatMap((table) => days.map((day) => `${table}_${day}`)));
      expect(trouble).toEqual([]);
    });

    test("a record from the future is refused alone", async () => {
      const outcome = await store.add([record({ time: NOW + 3 * DAY }), record({ time: NOW + 2 * DAY })]);
      expect(outcome).toMatchObject({ stored: 1, refused: 1, detail: "its time is days ahead of this clock" });
    });

    test("an id is unique within its day, also with another time", async () => {
      const id = newUuid();
      expect(await store.add([record({ id, time: NOW }), record({ id, time: NOW - 1 })])).toMatchObject({ stored: 1, duplicates: 1 });
      expect(await store.add([record({ id, time: NOW - DAY })])).toMatchObject({ stored: 1 });
    });

    test("a row that the database refuses is refused alone", async () => {
      await store.ready();
      const rows = [1, 2, 3, 4, 5, 6].map(() => rowOf(record()));
      const bad = [1, 4].map((at) => ({ at, row: { ...rowOf(record()), values: rowOf(record()).values.with(11, "\0") } }));
      for (const { at, row } of bad) rows.splice(at, 0, row);
      expect(await insertRows(await engine.database("logs"), rows, () => true)).toMatchObject({ stored: 6, refused: 2 });
    });

    test("a search looks through more than a window, and gives up in time", async () => {
      const records = Array.from({ length: 5_200 }, (_, index) => record({ time: NOW - index, status: index > 5_100 ? 500 : 200 }));
      await store.add(records);
      const selection = { tenant: TENANT, from: 0, to: 0, filter: { status: 500 }, after: null, limit: 10 };
      const page = await store.list(selection);
      expect(page).toMatchObject({ kind: "page", hasMore: true });
      expect(page.kind === "page" && page.rows.map(({ id }) => id)).toEqual(records.slice(5_101, 5_111).map(({ head }) => head.id));
      const oldest = startOfDay(dayOf(NOW) - 30);
      expect(await selectPage(await engine.database("logs"), selection, oldest, 0)).toEqual({ kind: "too_slow" });
    });

    test("a partition that another service dropped is made again", async () => {
      await store.add([record({ time: NOW - 20 * DAY })]);
      await runSql(await engine.database("logs"), `drop table logs.records_${nameOfDay(dayOf(NOW) - 20)}`);
      expect(await store.add([record({ time: NOW - 20 * DAY })])).toMatchObject({ stored: 1 });
    });

    test("several stores open, migrate and write at once", async () => {
      const engines = kind === "Postgres" ? [engine, engineOf(url), engineOf(url)] : [engine, engine, engine];
      const stores = engines.map((one) => storeOn(one));
      const records = Array.from({ length: 60 }, (_, index) => record({ time: NOW - index * DAY * 0.4 }));
      const outcomes = await Promise.all(stores.map((one) => one.add(records)));
      expect(outcomes.reduce((sum, { stored }) => sum + stored, 0)).toBe(60);
      const page = await stores[1]?.list({ tenant: TENANT, from: 0, to: 0, filter: {}, after: null, limit: 100 });
      expect(page?.kind === "page" && page.rows.length).toBe(60);
      for (const one of stores) await one.close();
    });

    test("a schema of a newer program refuses every use, and says both versions", async () => {
      await store.ready();
      await runSql(await engine.database("logs"), "insert into logs.schema_migration values ('0099-tomorrow', '2030-01-01')");
      const older = storeOn(engine);
      const own = Object.keys(logMigrations.migrations).at(-1) ?? "";
      for (const use of [() => older.ready(), () => older.add([record()])])
        await expect(use()).rejects.toThrow(new RegExp(`"0099-tomorrow", newer than "${own}"`));
    });
  });
});

describe.skipIf(!pglite.available)("PGlite in a process that is killed while it writes", () => {
  const script = `
    import { openSql } from ${JSON.stringify(new URL("../../../../packages/sql/dist/index.js", import.meta.url).href)};
    import { createSqlLogStore } from ${JSON.stringify(new URL("../../dist/sql/sql-log-store.js", import.meta.url).href)};
    import { encodeRecord, newHead, readRecord } from ${JSON.stringify(new URL("../../../../packages/events/dist/index.js", import.meta.url).href)};
    const engine = openSql({ url: null, dataDir: process.env.FOLDER, onEvent() {} });
    const store = createSqlLogStore({ engine, clock: { now: () => ${NOW} }, onTrouble() {} });
    const body = Buffer.from(JSON.stringify("x".repeat(2000)));
    for (let batch = 0; ; batch++) {
      const ids = Array.from({ length: 20 }, (_, index) => process.env.ROUND + "-" + batch + "-" + index);
      await store.add(ids.map((id) => readRecord(encodeRecord({
        head: { ...newHead(id, ${NOW}), organisation_id: "org", workspace_id: "ws" },
        request: { headers: null, body, json: true, truncated: false }, response: null,
      })).record));
      process.send(ids);
    }`;

  test("everything that was acknowledged is there, and it opens again", { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "unigate-logs-"));
    const file = join(folder, "write.mjs");
    writeFileSync(file, script);
    const acknowledged: string[] = [];
    for (const round of ["a", "b", "c"]) {
      const env = { FOLDER: folder, ROUND: round };
      const child: ChildProcess = fork(file, [], { env, execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
      const ended = once(child, "close");
      const enough = acknowledged.length + 200;
      child.on("message", (ids: string[]) => {
        acknowledged.push(...ids);
        if (acknowledged.length >= enough) child.kill("SIGKILL");
      });
      await ended;
      expect(acknowledged.length).toBeGreaterThanOrEqual(enough);
    }
    const events: string[] = [];
    const engine = openSql({ url: null, dataDir: folder, onEvent: ({ kind }) => void events.push(kind) });
    const store = createSqlLogStore({ engine, clock: { now: () => NOW }, onTrouble() {} });
    for (const id of acknowledged) expect((await store.get(TENANT, id))?.bytes.length).toBeGreaterThan(2_000);
    expect(events).toEqual(["opened"]);
    await store.close();
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });
});

test("a day and its name", () => {
  for (const day of [0, 59, 19_782, 20_593, 30_000]) expect(dayOfName(nameOfDay(day))).toBe(day);
  expect(nameOfDay(dayOf(NOW))).toBe("20260520");
  for (const name of ["", "2026052", "20269999", "default"]) expect(dayOfName(name)).toBeNull();
});
