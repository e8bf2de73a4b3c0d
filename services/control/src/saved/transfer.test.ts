import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSealer } from "@unigate/secrets";
import { requirement } from "@unigate/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { masterKeyMark, openSavedStore, type SavedPlace } from "./open-saved.ts";
import { nextOf, savedRow } from "./saved.fixture.ts";
import { makeEmbedded, makeOnServer, type TestDatabase } from "./sql/sql-database.fixture.ts";
import { exportSaved, importSaved } from "./transfer.ts";
import type { SavedChange } from "./types.ts";

const postgres = requirement("postgres");
const pglite = requirement("pglite");
const silent = { info() {}, warn() {}, error() {} };
const sealer = createSealer(Buffer.alloc(32, 5));
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "unigate-transfer-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function placeOf(name: string, more: Partial<SavedPlace> = {}): SavedPlace {
  const masterKey = masterKeyMark(sealer, "UNIGATE_MASTER_KEY");
  return { dataDir: join(root, name), database: null, masterKey, clock: { now: () => 1 }, log: silent, ...more };
}
async function write(place: SavedPlace, ...changes: SavedChange[]): Promise<void> {
  const store = await openSavedStore(place);
  for (const change of changes) await store.write([change]);
  await store.close();
}
async function fill(place: SavedPlace): Promise<void> {
  const config = savedRow({ kind: "config", id: "pc-1", resource: { z: 1, a: 2, 7: "ö" } });
  const provider = savedRow({ kind: "provider", id: "p", slug: "Ä\n", sealed: sealer.seal({ api_key: "s" }, "org-default", "provider/p") });
  const gone = savedRow({ id: "gone" });
  await write(
    place,
    { put: config },
    { put: nextOf(config, { details: { note: "two" } }) },
    { put: provider },
    { put: gone },
    { put: savedRow({ id: "key", keyHashes: ["a".repeat(64)] }) },
    { remove: gone },
  );
}
const load = (text: string, place: SavedPlace) => importSaved({ name: "saved.ndjson", bytes: Buffer.from(text) }, place);

test("from one journal to another, with configs as they were; a second time nothing is new", async () => {
  const [from, to] = [placeOf("from"), placeOf("to")];
  await fill(from);
  const text = await exportSaved(from);
  expect(text.trimEnd().split("\n")).toHaveLength(5);
  expect(await load(text, to)).toEqual({ added: 3, problems: [] });
  expect(await exportSaved(to)).toBe(text);
  expect(await load(text, to)).toEqual({ added: 0, problems: [] });
  expect(await exportSaved(from)).toBe(text);
});

test("conflicts and what is no export are told by their lines, and nothing is imported", async () => {
  const [from, to] = [placeOf("from"), placeOf("to")];
  await fill(from);
  const text = await exportSaved(from);
  await write(
    to,
    { put: savedRow({ id: "key", details: { other: true } }) },
    { put: savedRow({ kind: "provider", id: "q", slug: "Ä\n" }) },
  );
  const before = await exportSaved(to);
  expect((await load(text, to)).problems).toEqual([
    { line: 3, message: "there is another api_key with the id key" },
    { line: 5, message: 'another provider of the organisation org-default is named "Ä\n"' },
  ]);
  const lines = text.trimEnd().split("\n");
  const changed = [lines[0], lines[1]?.replace("pc-1", "pc-2"), lines[2], lines[0], "{}"].join("\n");
  expect((await load(changed, to)).problems).toEqual([
    { line: 2, message: "was changed after it was exported, or is no line of an export" },
    { line: 4, message: "expected a row" },
    { line: 5, message: "was changed after it was exported, or is no line of an export" },
  ]);
  expect((await load(lines.slice(1).join("\n"), to)).problems).toEqual([{ line: 1, message: "expected the first line of an export" }]);
  expect((await load("", to)).problems).toHaveLength(1);
  expect(await exportSaved(to)).toBe(before);
});

test("a foreign master key is refused before the store is opened", async () => {
  const from = placeOf("from");
  await fill(from);
  const masterKey = masterKeyMark(createSealer(Buffer.alloc(32, 6)), "data/master.key");
  const to = placeOf("to", { masterKey });
  await expect(load(await exportSaved(from), to)).rejects.toThrow(
    /^the secrets in saved\.ndjson are sealed under another master key .* put the former key into data\/master\.key, or give/,
  );
  await expect(exportSaved(to)).rejects.toThrow("there is no");
});

test("a journal that is in use is exported up to its last whole line; a damaged one is not", async () => {
  const from = placeOf("from");
  await fill(from);
  const text = await exportSaved(from);
  const { readFileSync, appendFileSync } = await import("node:fs");
  const file = join(from.dataDir, "control.journal");
  appendFileSync(file, '{"crc":"0000');
  expect(await exportSaved(from)).toBe(text);
  const bytes = readFileSync(file);
  bytes[bytes.indexOf("pc-1")] = 0;
  writeFileSync(file, bytes);
  await expect(exportSaved(from)).rejects.toThrow(/lines 2 of .* are damaged: start the gateway once/);
});

describe.skipIf(!postgres.available)("with Postgres", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await makeOnServer(postgres.at);
  });
  afterAll(() => database.drop());

  test("from a journal to Postgres and back: rows are the same, byte by byte", async () => {
    const [from, there, back] = [placeOf("from"), placeOf("", { database: database.engine() }), placeOf("back")];
    await expect(exportSaved(there)).rejects.toThrow("nothing was ever saved in the database");
    await fill(from);
    const text = await exportSaved(from);
    expect(await load(text, there)).toEqual({ added: 3, problems: [] });
    expect(await exportSaved(there)).toBe(text);
    expect(await load(await exportSaved(there), back)).toEqual({ added: 3, problems: [] });
    expect(await exportSaved(back)).toBe(text);
    expect(await load(text, there)).toEqual({ added: 0, problems: [] });
    await write(there, { put: savedRow({ id: "more" }) });
    expect((await load(text.replace(/^.*\n/, ""), there)).problems).toHaveLength(1);
  });
});

describe.skipIf(!postgres.available || !pglite.available)("out of the embedded database", () => {
  const databases: TestDatabase[] = [];
  afterAll(async () => {
    for (const database of databases) await database.drop();
  });

  test("to Postgres, and back into another embedded one: rows are the same, byte by byte", async () => {
    const place = (database: TestDatabase): SavedPlace => {
      databases.push(database);
      return placeOf("", { database: database.engine() });
    };
    const [from, there, back] = [place(await makeEmbedded()), place(await makeOnServer(postgres.at)), place(await makeEmbedded())];
    await fill(from);
    const text = await exportSaved(from);
    expect(await load(text, there)).toEqual({ added: 3, problems: [] });
    expect(await exportSaved(there)).toBe(text);
    expect(await load(await exportSaved(there), back)).toEqual({ added: 3, problems: [] });
    expect(await exportSaved(back)).toBe(text);
    expect(await load(text, from)).toEqual({ added: 0, problems: [] });
  });
});
