import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { buildSettings, FlagError, type Settings } from "@unigate/runtime";
import { createSealer } from "@unigate/secrets";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ownDataDir } from "./data-dir.ts";
import { exportTo, importFrom } from "./transfer.ts";

const KEY = Buffer.alloc(32, 4);
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "unigate-transfer-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function settingsOf(name: string): Settings {
  return buildSettings(
    { UNIGATE_DATA_DIR: join(folder, name), UNIGATE_MASTER_KEY: KEY.toString("hex"), UNIGATE_LOG_LEVEL: "silent" },
    undefined,
  );
}
/** An exported file as it was on the day that the form was released: it must always be read. */
function exported(): string {
  const row = `{"kind":"config","id":"pc-1","slug":"pc-1","organisationId":"org-default","workspaceId":null,"version":2,"createdAt":1,"updatedAt":2,"resource":{"id":"pc-1"},"details":{},"sealed":null,"keyHashes":[]}`;
  const mark = createSealer(KEY).fingerprint("the master key of saved things");
  return [`"control_journal":1,"master_key":"${mark}","seq":0}`, `"row":${row}}`]
    .map((body) => `{"crc":"${crc32(body).toString(16).padStart(8, "0")}",${body}\n`)
    .join("");
}
function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

test("what is imported is exported again just so, to a file that only the owner may read", async () => {
  const settings = settingsOf("data");
  expect(await importFrom(write("in.ndjson", exported()), settings)).toEqual({ added: 1, problems: [] });
  expect(await exportTo("", settings)).toBe(exported());
  const file = join(folder, "out.ndjson");
  expect(await exportTo(file, settings)).toBe("");
  expect(readFileSync(file, "utf8")).toBe(exported());
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await expect(exportTo(file, settings)).rejects.toThrow(expect.objectContaining({ constructor: FlagError }));
});

test("problems are told with file and line", async () => {
  const file = write("in.ndjson", exported().replace("pc-1", "pc-2"));
  expect(await importFrom(file, settingsOf("data"))).toEqual({
    added: 0,
    problems: [`${file}:2: was changed after it was exported, or is no line of an export`],
  });
});

test("an import waits for nobody: a data folder in use is refused, an export of it is not", async () => {
  const settings = settingsOf("data");
  const file = write("in.ndjson", exported());
  await importFrom(file, settings);
  const owner = await ownDataDir(settings.dataDir);
  await expect(importFrom(file, settings)).rejects.toThrow("is in use by process");
  expect(await exportTo("", settings)).toBe(exported());
  await owner.release();
});

test("another master key: the file that holds the wrong one is named", async () => {
  const settings = { ...settingsOf("data"), masterKey: null };
  await expect(importFrom(write("in.ndjson", exported()), settings)).rejects.toThrow(
    `put the former key into ${join(settings.dataDir, "master.key")}`,
  );
});

test("a file that is not there", async () => {
  await expect(importFrom(join(folder, "none"), settingsOf("data"))).rejects.toThrow(/^--import: ENOENT/);
});
