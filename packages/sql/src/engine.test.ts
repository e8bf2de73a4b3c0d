import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Secret } from "@unigate/core";
import { requirement, startWeatherProxy } from "@unigate/testkit";
import * as fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openSql, type SqlEngine } from "./engine.ts";
import { sqlState } from "./fault.ts";
import { migrateSchema, type SchemaMigrations } from "./migrate.ts";
import { runSql } from "./raw.ts";

const postgres = requirement("postgres");
const pglite = requirement("pglite");
const kinds = [
  { name: "PGlite", missing: !pglite.available },
  { name: "Postgres", missing: !postgres.available },
];

interface Tables {
  "control.thing": { id: number; name: string };
}

describe.for(kinds)("SQL over $name", ({ name: kind, missing }) => {
  describe.skipIf(missing)("as it is there", () => {
    const database = `unigate_test_sql_${process.pid}`;
    let folder: string;
    let open: () => SqlEngine;
    let engine: SqlEngine;
    const opened: SqlEngine[] = [];

    async function onServer(text: string): Promise<void> {
      const server = openSql({ url: new Secret(postgres.at), dataDir: "", onEvent() {} });
      await runSql(await server.database("control"), text);
      await server.close();
    }

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "unigate-sql-"));
      if (kind === "PGlite") {
        const only = openSql({ url: null, dataDir: folder, onEvent() {} });
        opened.push(only);
        open = () => only;
      } else {
        await onServer(`create database ${database}`);
        const url = new Secret(Object.assign(new URL(postgres.at), { pathname: `/${database}` }).href);
        open = () => {
          const one = openSql({ url, dataDir: "", onEvent() {} });
          opened.push(one);
          return one;
        };
      }
      engine = open();
    });
    beforeEach(async () => {
      await runSql(await engine.database("logs"), "drop schema if exists control cascade");
    });
    afterAll(async () => {
      for (const one of opened) await one.close();
      if (kind === "Postgres") await onServer(`drop database ${database} with (force)`);
      rmSync(folder, { recursive: true, force: true });
    });

    const rows = async (text: string, parameters: readonly unknown[] = []) =>
      (await runSql(await engine.database("logs"), text, parameters)).rows;

    test.each([
      ["42::integer", 42],
      ["9007199254740991::bigint", Number.MAX_SAFE_INTEGER],
      ["count(*)", 1],
      ["1.50::numeric", "1.50"],
      ["0.5::float8", 0.5],
      ["'x'::text", "x"],
      ["null::text", null],
      ["true", true],
      ["'{\"a\":[1]}'::jsonb", { a: [1] }],
      ["'2026-01-02'::date", "2026-01-02"],
      ["'\\x00ff41'::bytea", Buffer.from([0, 255, 65])],
      ["array['a','b']", ["a", "b"]],
    ])("%s comes back as %j", async (expression, expected) => {
      expect((await rows(`select ${expression} as value`))[0]).toEqual({ value: expected });
    });

    test("a bigint beyond an exact number is an error, not another number", async () => {
      await expect(rows("select 9007199254740993::bigint as value")).rejects.toThrow("9007199254740993");
      expect(await rows("select 1 as value")).toEqual([{ value: 1 }]);
    });

    test("parameters go in and out unchanged", async () => {
      const text = fc.string({ unit: "binary" }).filter((value) => !value.includes("\0"));
      await fc.assert(
        fc.asyncProperty(text, fc.maxSafeInteger(), fc.boolean(), fc.array(text), async (string, number, boolean, array) => {
          const [row] = await rows("select $1::text as string, $2::bigint as number, $3::boolean as boolean, $4::text[] as array", [
            string,
            number,
            boolean,
            array,
          ]);
          expect(row).toEqual({ string, number, boolean, array });
        }),
        { numRuns: 50 },
      );
    });

    test.each([
      ["select 1/0", "22012"],
      ["select * from nowhere.nothing", "42P01"],
      ["select", null],
      ["selec 1", "42601"],
    ])("%s has the state %s, and the next statement works", async (text, state) => {
      const outcome = await rows(text).then(
        () => null,
        (error: unknown) => sqlState(error),
      );
      expect(outcome).toBe(state);
      expect(await rows("select 1 as one")).toEqual([{ one: 1 }]);
    });

    test("a transaction happens whole or not at all; others wait for it", async () => {
      const control = await engine.database<Tables>("control");
      await rows("create schema control");
      await rows("create table control.thing (id bigint primary key, name text not null)");
      const failing = control.transaction().execute(async (transaction) => {
        await transaction.insertInto("control.thing").values({ id: 1, name: "one" }).execute();
        await transaction.insertInto("control.thing").values({ id: 1, name: "again" }).execute();
      });
      await expect(failing.catch((error: unknown) => Promise.reject(new Error(sqlState(error) ?? "")))).rejects.toThrow("23505");
      expect(await control.selectFrom("control.thing").selectAll().execute()).toEqual([]);

      const inside = control.transaction().execute(async (transaction) => {
        for (let id = 0; id < 5; id++) await transaction.insertInto("control.thing").values({ id, name: "n" }).execute();
      });
      const counts = await Promise.all(Array.from({ length: 5 }, () => rows("select count(*) as count from control.thing")));
      await inside;
      for (const [row] of counts) expect([0, 5]).toContain(row?.["count"]);
    });

    test("the builder's counts and returned rows", async () => {
      const control = await engine.database<Tables>("control");
      await rows("create schema control");
      await rows("create table control.thing (id bigint primary key, name text not null)");
      await control
        .insertInto("control.thing")
        .values([1, 2, 3].map((id) => ({ id, name: `n${id}` })))
        .execute();
      const updated = await control.updateTable("control.thing").set({ name: "x" }).where("id", ">", 1).executeTakeFirst();
      expect(updated.numUpdatedRows).toBe(2n);
      expect(await control.deleteFrom("control.thing").where("id", "=", 3).returning("name").execute()).toEqual([{ name: "x" }]);
    });

    describe("migrations", () => {
      const table = (name: string): SchemaMigrations["migrations"][string] => ({
        up: (on) => runSql(on, `create table control.${name} (id bigint)`).then(() => {}),
      });
      const schema = (migrations: SchemaMigrations["migrations"]): SchemaMigrations => ({ schema: "control", migrations });
      const tables = async () =>
        (await rows("select table_name as name from information_schema.tables where table_schema = 'control' order by 1"))
          .map((row) => String(row["name"]))
          .filter((name) => !name.startsWith("schema_migration"));

      test("run once, in the order of their names", async () => {
        expect(await migrateSchema(engine, schema({ "0002-b": table("b"), "0001-a": table("a") }))).toEqual(["0001-a", "0002-b"]);
        expect(await migrateSchema(engine, schema({ "0001-a": table("a"), "0002-b": table("b") }))).toEqual([]);
        const next = schema({ "0001-a": table("a"), "0002-b": table("b"), "0003-c": table("c") });
        expect(await migrateSchema(engine, next)).toEqual(["0003-c"]);
        expect(await tables()).toEqual(["a", "b", "c"]);
      });

      test("several runners at once: each migration runs once, all find the schema ready", async () => {
        const runs: string[] = [];
        const counted = (name: string): SchemaMigrations["migrations"][string] => ({
          async up(on) {
            runs.push(name);
            await runSql(on, `create table control.${name} (id bigint)`);
          },
        });
        const migrations = schema({ "0001-a": counted("a"), "0002-b": counted("b") });
        const done = await Promise.all([open(), open(), open(), open()].map((one) => migrateSchema(one, migrations)));
        expect(done.flat()).toEqual(["0001-a", "0002-b"]);
        expect(runs).toEqual(["a", "b"]);
        expect(await tables()).toEqual(["a", "b"]);
      });

      test("one that fails leaves the schema as it was, and is named", async () => {
        await migrateSchema(engine, schema({ "0001-a": table("a") }));
        const broken = schema({
          "0001-a": table("a"),
          "0002-b": table("b"),
          "0003-broken": { up: (on) => runSql(on, "alter table control.a add column id bigint").then(() => {}) },
        });
        await expect(migrateSchema(engine, broken)).rejects.toThrow(/"control" could not be migrated at "0003-broken": .*already exists/);
        expect(await tables()).toEqual(["a"]);
        const mended = schema({ "0001-a": table("a"), "0002-b": table("b"), "0003-broken": table("c") });
        expect(await migrateSchema(engine, mended)).toEqual(["0002-b", "0003-broken"]);
      });

      test("a schema newer than the program is refused with both versions, and nothing runs", async () => {
        await migrateSchema(engine, schema({ "0001-a": table("a"), "0002-b": table("b") }));
        const older = schema({ "0001-a": table("a") });
        await expect(migrateSchema(engine, older)).rejects.toThrow(
          /^the database schema "control" is at version "0002-b", newer than "0001-a" of this program: start the newer program/,
        );
        expect(await tables()).toEqual(["a", "b"]);
      });
    });
  });
});

describe.skipIf(!postgres.available)("a Postgres that goes away", () => {
  test("in the middle of a transaction: it fails, and the process lives on", async () => {
    const proxy = await startWeatherProxy(postgres.at);
    const url = new Secret(Object.assign(new URL(postgres.at), { host: proxy.address }).href);
    const engine = openSql({ url, dataDir: "", onEvent() {} });
    try {
      const database = await engine.database<unknown>("logs");
      const broken = database.transaction().execute(async (on) => {
        await runSql(on, "select 1");
        proxy.cut();
        // Nothing is being asked when the end comes.
        await new Promise((resolve) => setTimeout(resolve, 100));
        await runSql(on, "select 2");
      });
      await expect(broken).rejects.toThrow();
      expect((await runSql(database, "select 3 as three")).rows).toEqual([{ three: 3 }]);
    } finally {
      await engine.close();
      await proxy.close();
    }
  });
});
