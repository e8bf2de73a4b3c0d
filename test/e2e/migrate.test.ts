import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Secret } from "@unigate/core";
import { openSql, runSql } from "@unigate/sql";
import { freePort, removeFolder, requirement } from "@unigate/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../../services/unigate/bin/main.js", import.meta.url));
const postgres = requirement("postgres");
const name = `unigate_test_migrate_${process.pid}`;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "unigate-migrate-"));
});
afterAll(() => removeFolder(folder));

function migrate(url?: string): { code: number | null; out: string; error: string } {
  const env = url === undefined ? {} : { UNIGATE_DATABASE_URL: url };
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, "--migrate"], {
    cwd: folder,
    env,
    encoding: "utf8",
    timeout: 30_000,
  });
  return { code: status, out: stdout, error: stderr };
}

async function onServer(at: string, statement: string): Promise<void> {
  const engine = openSql({ url: new Secret(at), dataDir: "", onEvent() {} });
  await runSql(await engine.database("control"), statement);
  await engine.close();
}

test("without a database there is nothing to migrate", () => {
  expect(migrate()).toEqual({ code: 1, out: "", error: "unigate: --migrate needs a database: set UNIGATE_DATABASE_URL\n" });
});

test("a database that is not there is told in one line", async () => {
  const { code, out, error } = migrate(`postgres://gw:secret@127.0.0.1:${await freePort()}/gw`);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(error).toMatch(/^unigate: the database \(UNIGATE_DATABASE_URL\) cannot be migrated: .*ECONNREFUSED.*\n$/);
  expect(error).not.toContain("secret");
});

describe.skipIf(!postgres.available)("over Postgres", () => {
  let url: string;
  beforeAll(async () => {
    url = Object.assign(new URL(postgres.at), { pathname: `/${name}` }).href;
    await onServer(postgres.at, `create database ${name}`);
  });
  afterAll(() => onServer(postgres.at, `drop database ${name} with (force)`));

  test("an empty database gets every schema, and a second run finds nothing left to do", async () => {
    const first = migrate(url);
    expect(first).toMatchObject({ code: 0, error: "" });
    expect(first.out.split("\n")).toEqual([
      expect.stringMatching(/^the database schema "control": 0001-/),
      expect.stringMatching(/^the database schema "logs": 0001-/),
      "",
    ]);
    await onServer(url, "select seq from control.store");
    await onServer(url, "select 1 from logs.schema_migration");
    expect(migrate(url)).toEqual({
      code: 0,
      out: 'the database schema "control" is up to date\nthe database schema "logs" is up to date\n',
      error: "",
    });
  });

  test("a database that a newer program made is left alone", async () => {
    migrate(url);
    await onServer(url, "insert into logs.schema_migration values ('9999-later', '2026-01-01T00:00:00Z')");
    const { code, out, error } = migrate(url);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(error).toContain('the database schema "logs" is at version "9999-later", newer than "');
  });
});
