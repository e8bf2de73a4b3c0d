import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PortableStore } from "../portable-store.ts";
import { textOfRow } from "../row-json.ts";
import { nextOf, savedRow, TEST_KEY } from "../saved.fixture.ts";
import type { SavedRow } from "../types.ts";
import { SavedUnavailable } from "../types.ts";
import { type Disk, realDisk } from "./journal-file.ts";
import { openJournalStore } from "./journal-store.ts";
import { readLine, textOfLine } from "./line.ts";
import type { JournalDeps } from "./prepare-journal.ts";

let folder: string;
let file: string;
let logged: { readonly level: string; readonly fields: Record<string, unknown>; readonly text: string }[];
let stores: PortableStore[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "unigate-journal-"));
  file = join(folder, "control.journal");
  logged = [];
  stores = [];
});
afterEach(async () => {
  for (const store of stores) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function openStore(more: Partial<JournalDeps> = {}): Promise<PortableStore> {
  const log = (level: string) => (fields: object, text: string) => void logged.push({ level, fields: { ...fields }, text });
  const store = await openJournalStore({
    folder,
    masterKey: TEST_KEY,
    clock: { now: () => Date.UTC(2026, 0, 2) },
    log: { info: log("info"), warn: log("warn"), error: log("error") } as JournalDeps["log"],
    ...more,
  });
  stores.push(store);
  return store;
}
async function idsIn(store: PortableStore): Promise<string[]> {
  return (await store.load()).rows.map(({ id }) => id).sort();
}
const put = (row: SavedRow) => [{ put: row }];

/** A journal of three writes, the last one long; and where its lines begin. */
async function threeWrites(): Promise<{ readonly bytes: Buffer; readonly starts: readonly number[] }> {
  const store = await openStore();
  await store.write(put(savedRow({ id: "a" })));
  await store.write([...put(savedRow({ id: "b" })), ...put(savedRow({ id: "c", details: { note: "ä" } }))]);
  await store.write(put(savedRow({ id: "d" })));
  await store.close();
  stores = [];
  const bytes = readFileSync(file);
  const starts = [0];
  for (let at = bytes.indexOf(10); at >= 0 && at < bytes.length - 1; at = bytes.indexOf(10, at + 1)) starts.push(at + 1);
  return { bytes, starts };
}

describe("a crash", () => {
  test("cut at any byte of the last line: what was confirmed before is there, and writing goes on", async () => {
    const { bytes, starts } = await threeWrites();
    expect(starts).toHaveLength(4);
    const last = starts[3] ?? 0;
    for (let length = last; length <= bytes.length; length++) {
      writeFileSync(file, bytes.subarray(0, length));
      const store = await openStore();
      expect(await idsIn(store)).toEqual(length === bytes.length ? ["a", "b", "c", "d"] : ["a", "b", "c"]);
      if (length % 16 === 0) await store.write(put(savedRow({ id: "next" })));
      await store.close();
      stores = [];
      if (length % 16 !== 0) continue;
      const again = await openStore();
      expect(await idsIn(again)).toContain("next");
      await again.close();
      stores = [];
    }
    expect(readdirSync(folder)).toEqual(["control.journal"]);
    expect(logged.filter(({ level }) => level === "error")).toEqual([]);
    expect(logged.some(({ text }) => text.includes("was not finished"))).toBe(true);
  });

  test("a draft that a killed process left is removed", async () => {
    await threeWrites();
    writeFileSync(`${file}.123.0123abcd`, "half");
    expect(await idsIn(await openStore())).toEqual(["a", "b", "c", "d"]);
    expect(readdirSync(folder)).toEqual(["control.journal"]);
  });
});

describe("damage", () => {
  test("a flipped byte in any place of a line in the middle: that line is lost, told, and the file is kept", async () => {
    const { bytes, starts } = await threeWrites();
    const start = starts[2] ?? 0;
    const end = starts[3] ?? 0;
    for (let at = start; at < end - 1; at += 7) {
      const broken = Buffer.from(bytes);
      broken[at] = (broken[at] ?? 0) ^ 0x01;
      writeFileSync(file, broken);
      logged = [];
      const store = await openStore();
      expect(await idsIn(store)).toEqual(["a", "d"]);
      const [error] = logged.filter(({ level }) => level === "error");
      expect(error?.fields).toMatchObject({ file, damagedLines: [3], damaged: 1, lostChanges: [[2, 3]], kept: 2 });
      const movedTo = String(error?.fields["movedTo"]);
      expect(movedTo).toMatch(/control\.journal\.broken-2026-01-02T00-00-00-\d{3}Z$/);
      expect(readFileSync(movedTo)).toEqual(broken);
      expect(statSync(movedTo).mode & 0o777).toBe(0o600);
      expect((await store.load()).seq).toBe(4);
      await store.write(put(savedRow({ id: "next" })));
      await store.close();
      stores = [];
    }
    logged = [];
    expect(await idsIn(await openStore())).toContain("next");
    expect(logged).toEqual([]);
  });

  test("a lost header is told, and the rest is kept", async () => {
    const { bytes, starts } = await threeWrites();
    writeFileSync(file, bytes.subarray(starts[1]));
    expect(await idsIn(await openStore())).toEqual(["a", "b", "c", "d"]);
    expect(logged.map(({ level }) => level)).toEqual(["error"]);
  });

  test("a removal that was lost is not lost when a later line tells of it", async () => {
    const store = await openStore();
    const row = savedRow({ id: "a" });
    await store.write(put(row));
    await store.write([{ put: nextOf(row) }]);
    await store.write([{ remove: nextOf(row) }]);
    await store.close();
    stores = [];
    const lines = readFileSync(file, "utf8").split("\n");
    lines[2] = "gone";
    writeFileSync(file, lines.join("\n"));
    expect(await idsIn(await openStore())).toEqual([]);
  });

  test.each([
    ["an empty file", ""],
    ["another file", "hello\nworld\n"],
    ["zeros", "\0".repeat(4_096)],
  ])("%s is not taken for an empty journal", async (_case, text) => {
    writeFileSync(file, text);
    await expect(openStore()).rejects.toThrow(`no line of ${file} is one of a journal of saved things: restore it from a backup`);
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  test("a folder in its place is refused with the path", async () => {
    mkdirSync(file);
    await expect(openStore()).rejects.toThrow(file);
  });

  test("a data folder that cannot be made is refused with the path", async () => {
    writeFileSync(file, "");
    await expect(openStore({ folder: join(file, "data") } as Partial<JournalDeps>)).rejects.toThrow(/cannot be opened: .*control\.journal/);
  });
});

describe("refusals at the start", () => {
  test("another master key: it says which file and which variable", async () => {
    await threeWrites();
    const masterKey = { fingerprint: "00000000000000bb", source: "data/master.key" };
    await expect(openStore({ masterKey })).rejects.toThrow(
      `the secrets in ${file} are sealed under another master key (mark 00000000000000aa) than that of data/master.key (mark 00000000000000bb): put the former key into data/master.key`,
    );
    expect(await idsIn(await openStore())).toHaveLength(4);
  });

  test("a newer format", async () => {
    writeFileSync(file, textOfLine({ kind: "header", format: 2, masterKey: TEST_KEY.fingerprint, seq: 0 }));
    await expect(openStore()).rejects.toThrow("has format 2, newer than 1 of this program: start the newer program");
  });
});

describe("the disk", () => {
  /** A disk that can be told to fail: it takes half of what comes, or all and then fails to sync. */
  function diskOf(fails: { write: boolean; sync: boolean; truncate: boolean }): Disk {
    const full = () => Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    const openForAppend: Disk["openForAppend"] = async (path) => {
      const handle = await open(path, "a", 0o600);
      return {
        async writeFile(data) {
          const bytes = Buffer.from(data as Uint8Array);
          if (!fails.write) return handle.writeFile(bytes);
          await handle.writeFile(bytes.subarray(0, bytes.length / 2));
          throw full();
        },
        async datasync() {
          if (fails.sync) throw full();
          await handle.datasync();
        },
        async truncate(length) {
          if (fails.truncate) throw full();
          await handle.truncate(length);
        },
        close: () => handle.close(),
      };
    };
    return { ...realDisk, openForAppend };
  }

  test.each([
    ["no space to write", { write: true, sync: false, truncate: false }],
    ["no space to sync", { write: false, sync: true, truncate: false }],
    ["no space for anything", { write: true, sync: true, truncate: true }],
  ])("%s: the write is refused and nothing of it stays; the next one works", async (_case, how) => {
    const fails = { write: false, sync: false, truncate: false };
    const store = await openStore({ disk: diskOf(fails) });
    await store.write(put(savedRow({ id: "a" })));
    Object.assign(fails, how);
    const refused = await Promise.allSettled([store.write(put(savedRow({ id: "b" }))), store.write(put(savedRow({ id: "c" })))]);
    for (const outcome of refused) {
      expect(outcome.status === "rejected" && outcome.reason).toBeInstanceOf(SavedUnavailable);
      expect(String(outcome.status === "rejected" && outcome.reason)).toContain("could not be written to the disk: ENOSPC");
    }
    expect(await idsIn(store)).toEqual(["a"]);
    Object.assign(fails, { write: false, sync: false, truncate: false });
    expect(await store.write(put(savedRow({ id: "b" })))).toBe(2);
    await store.close();
    stores = [];
    expect(await idsIn(await openStore())).toEqual(["a", "b"]);
    expect(logged).toEqual([]);
  });

  test("writes that come together share a sync, and each is answered by what it did", async () => {
    let syncs = 0;
    const openForAppend: Disk["openForAppend"] = async (path) => {
      const handle = await open(path, "a");
      const datasync = async (): Promise<void> => {
        syncs += 1;
        await handle.datasync();
      };
      return {
        writeFile: (data) => handle.writeFile(data),
        datasync,
        truncate: (length) => handle.truncate(length),
        close: () => handle.close(),
      };
    };
    const store = await openStore({ disk: { ...realDisk, openForAppend } });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) => store.write(put(savedRow({ id: `${index % 99}` })))),
    );
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(1);
    expect(syncs).toBeLessThan(5);
    expect(await idsIn(store)).toHaveLength(99);
  });

  test("more writes than may wait are refused at once", async () => {
    const store = await openStore();
    const outcomes = await Promise.allSettled(Array.from({ length: 1_300 }, (_, index) => store.write(put(savedRow({ id: `${index}` })))));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1_000);
    await store.write(put(savedRow({ id: "later" })));
  });

  test("a closed store refuses to write", async () => {
    const store = await openStore();
    await store.close();
    stores = [];
    await expect(store.write(put(savedRow({ id: "a" })))).rejects.toThrow("is closed");
  });
});

describe("length", () => {
  test("no space for a shorter file: the long one is used, at the start and later", async () => {
    await threeWrites();
    const long = readFileSync(file);
    const replace = () => Promise.reject(new Error("ENOSPC: no space left on device"));
    const store = await openStore({ disk: { ...realDisk, replace }, growth: 10 });
    expect(await idsIn(store)).toEqual(["a", "b", "c", "d"]);
    await store.write(put(savedRow({ id: "next" })));
    await store.close();
    stores = [];
    expect(readFileSync(file).subarray(0, long.length)).toEqual(long);
    expect(logged.map(({ level, text }) => `${level} ${text}`)).toEqual([
      "warn the journal of saved things could not be made shorter; it is used as it is",
      "warn the journal of saved things could not be made shorter; it goes on growing",
    ]);
    expect(await idsIn(await openStore())).toHaveLength(5);
  });

  test("a start makes it as short as it can be, and only when there is something to shorten", async () => {
    const store = await openStore();
    let row = savedRow({ id: "a" });
    await store.write(put(row));
    for (let count = 0; count < 50; count++) await store.write(put((row = nextOf(row))));
    const gone = savedRow({ id: "gone" });
    await store.write(put(gone));
    await store.write([{ remove: gone }]);
    await store.close();
    const again = await openStore();
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(lines.map((line) => readLine(Buffer.from(line))?.kind)).toEqual(["header", "row"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await again.load()).rows.map(textOfRow)).toEqual([textOfRow(row)]);
    expect((await again.load()).seq).toBe(53);
    await again.close();
    const { ino } = statSync(file);
    await openStore();
    expect(statSync(file).ino).toBe(ino);
  });

  test("it is made shorter while it runs, and nothing is lost by it", async () => {
    const store = await openStore({ growth: 2_000 });
    let row = savedRow({ id: "a" });
    await store.write(put(row));
    for (let count = 0; count < 100; count++) await store.write(put((row = nextOf(row))));
    expect(statSync(file).size).toBeLessThan(4_000);
    await store.close();
    stores = [];
    expect((await (await openStore()).load()).rows.map(textOfRow)).toEqual([textOfRow(row)]);
  });
});
