import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSettings, SettingError, type Settings } from "@unigate/runtime";
import type { SqlEngine } from "@unigate/sql";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ownDataDir } from "./data-dir.ts";
import { openDatabase, refuseEmbedded } from "./database.ts";

const silent = { info() {}, warn() {}, error() {} };
let root = "";
let opened: SqlEngine[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "unigate-database-"));
});
afterEach(async () => {
  for (const engine of opened) await engine.close();
  opened = [];
  rmSync(root, { recursive: true, force: true });
});

function settingsOf(url: string, data = "data"): Settings {
  return buildSettings({ UNIGATE_DATABASE_URL: url, UNIGATE_DATA_DIR: join(root, data) }, undefined);
}
async function open(settings: Settings, owned: string | null = null): Promise<SqlEngine | null> {
  const engine = await openDatabase(settings, owned, silent);
  if (engine !== null) opened.push(engine);
  return engine;
}

test("none is named: none is opened", async () => {
  expect(await open(settingsOf(""))).toBeNull();
});

test("a server has no folder and no owner", async () => {
  const settings = settingsOf("postgres://u:p@127.0.0.1:1/x");
  expect([(await open(settings))?.kind, (await open(settings))?.kind]).toEqual(["postgres", "postgres"]);
  expect(existsSync(settings.dataDir)).toBe(false);
});

test("two owners of one folder: the second is told who has it, and may have it after", async () => {
  const folder = join(root, "elsewhere");
  const [one, other] = [settingsOf(`pglite://${folder}`, "one"), settingsOf(`pglite://${folder}`, "other")];
  const first = await open(one);
  await expect(open(other)).rejects.toThrow(
    `the data folder ${folder} is in use by process ${process.pid}; stop it, or set UNIGATE_DATABASE_URL to another folder`,
  );
  await first?.close();
  expect((await open(other))?.kind).toBe("pglite");
});

test("in the data folder of another process it is refused as that folder is", async () => {
  const settings = settingsOf("pglite:");
  const owner = await ownDataDir(settings.dataDir);
  await expect(open(settings)).rejects.toThrow("set UNIGATE_DATA_DIR to another folder");
  await expect(open(settingsOf(`pglite://${settings.dataDir}`, "other"))).rejects.toThrow("is in use by process");
  await owner.release();
});

test("in the data folder of this process it needs no owner more, by whatever name", async () => {
  const { dataDir } = settingsOf("pglite:");
  mkdirSync(dataDir);
  symlinkSync(dataDir, join(root, "link"));
  const owner = await ownDataDir(dataDir);
  for (const url of ["pglite:", `pglite://${dataDir}`, `pglite://${dataDir}/`, `pglite://${join(root, "link")}`])
    expect((await open(settingsOf(url), dataDir))?.kind).toBe("pglite");
  await owner.release();
});

test("a folder that cannot be made is named, with the variable", async () => {
  writeFileSync(join(root, "file"), "");
  await expect(open(settingsOf(`pglite://${join(root, "file", "below")}`))).rejects.toThrow(
    /^the data folder .*\/file\/below cannot be made: .*ENOTDIR.*; set UNIGATE_DATABASE_URL to another folder$/,
  );
});

test("sharers of an embedded database are refused, of a server not", () => {
  const refused = (url: string) => () => refuseEmbedded(settingsOf(url), "2 workers");
  expect(refused("pglite:")).toThrow(SettingError);
  expect(refused("pglite:")).toThrow(
    `UNIGATE_DATABASE_URL is "pglite:"; expected postgres://user:password@host:5432/database for 2 workers: the embedded database in ${join(root, "data")} belongs to one process that runs all services, without workers`,
  );
  expect(refused("postgres://u:p@h/x")).not.toThrow();
  expect(refused("")).not.toThrow();
});
