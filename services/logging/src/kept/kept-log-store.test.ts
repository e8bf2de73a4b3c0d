import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newUuid } from "@unigate/core";
import { type EncodedRecord, encodeRecord, newHead, readRecord } from "@unigate/events";
import { canMountSmallDisk, mountSmallDisk } from "@unigate/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { LogStore } from "../log-store.ts";
import { openKeptLogStore } from "./kept-log-store.ts";

const TENANT = { organisationId: "org", workspaceId: "" };
let folder = "";
let troubles: unknown[] = [];
let stores: LogStore[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "unigate-kept-"));
  troubles = [];
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(limits = { fileBytes: 4_000, files: 4 }): LogStore {
  const store = openKeptLogStore({ folder: join(folder, "logs"), limits, onTrouble: (error) => troubles.push(error) });
  stores.push(store);
  return store;
}

async function reopen(limits?: { fileBytes: number; files: number }): Promise<LogStore> {
  for (const store of stores.splice(0)) await store.close();
  return open(limits);
}

function record(time: number, body: string | null = null): EncodedRecord {
  const head = Object.assign(newHead(newUuid(), time), { organisation_id: "org", workspace_id: "ws" });
  const request = body === null ? null : { headers: null, body: Buffer.from(body), json: true, truncated: false };
  const read = readRecord(encodeRecord({ head, request, response: null }));
  if (!read.ok) throw new Error(read.detail);
  return read.record;
}

async function idsIn(store: LogStore): Promise<string[]> {
  const filter = {};
  const page = await store.list({ tenant: TENANT, from: 0, to: 0, filter, after: null, limit: 1_000 });
  return page.kind === "page" ? page.rows.map(({ id }) => id) : [];
}

const files = (): string[] => readdirSync(join(folder, "logs")).sort();

test("records are there after a restart, whole, newest first, and come again as duplicates", async () => {
  const [older, newer] = [record(1_000, '{\n  "model": "m"\n}'), record(2_000)];
  await open().add([older, newer]);
  const again = await reopen();
  expect(await idsIn(again)).toEqual([newer.head.id, older.head.id]);
  const found = await again.get(TENANT, older.head.id);
  expect(JSON.parse(String(found?.bytes))).toEqual(JSON.parse(String(older.bytes)));
  expect(await again.add([older])).toMatchObject({ stored: 0, duplicates: 1 });
});

test("bodies that came apart are there after a restart, and may come after it", async () => {
  const [one, other] = [record(1_000), record(2_000)];
  const bodiesOf = ({ head }: EncodedRecord) => ({
    id: head.id,
    time: head.time,
    organisationId: "org",
    tail: ',"request":{"body":"late"},"response":null}',
  });
  const store = open();
  await store.add([one, other].map((each) => ({ ...each, bodiesApart: true })));
  await store.addBodies([bodiesOf(one)]);
  const again = await reopen();
  await again.addBodies([bodiesOf(other)]);
  for (const { head } of [one, other]) {
    const found = await again.get(TENANT, head.id);
    expect(JSON.parse(String(found?.bytes))).toMatchObject({ id: head.id, request: { body: "late" } });
  }
});

test("a torn or damaged line loses itself alone", async () => {
  const [first, second] = [record(1_000), record(2_000)];
  const store = open();
  await store.add([first]);
  await store.add([second]);
  const [name = ""] = files();
  const path = join(folder, "logs", name);
  const text = readFileSync(path, "utf8");
  writeFileSync(path, `${text.split("\n")[0]}\n{"id":"half\n`);
  appendFileSync(path, text.split("\n")[1]?.slice(0, 50) ?? "");
  const again = await reopen();
  expect(await idsIn(again)).toEqual([first.head.id]);
  // What comes next does not continue the torn line.
  await again.add([second]);
  expect(await idsIn(await reopen())).toEqual([second.head.id, first.head.id]);
});

test("records and bodies that come again are not written again", async () => {
  const [one, other] = [record(1_000), record(2_000)];
  const bodies = { id: other.head.id, time: 2_000, organisationId: "org", tail: ',"request":{"body":"late"},"response":null}' };
  const lines = (): number =>
    files()
      .map((name) => readFileSync(join(folder, "logs", name), "utf8").split("\n").length - 1)
      .reduce((sum, count) => sum + count, 0);
  let store = open();
  const apart = { ...other, bodiesApart: true };
  expect(await store.add([one, one, apart])).toMatchObject({ stored: 2, duplicates: 1 });
  await store.addBodies([bodies]);
  expect(lines()).toBe(3);
  for (const again of [store, null]) {
    // Also of what the start before wrote.
    store = again ?? (await reopen());
    expect(await store.add([apart, one])).toMatchObject({ stored: 0, duplicates: 2 });
    expect(await store.addBodies([bodies, bodies])).toMatchObject({ stored: 0, duplicates: 2 });
    expect(lines()).toBe(3);
  }
});

test("what could not be written is written when it comes again", async () => {
  const [one, other] = [record(1_000), record(2_000)];
  const store = open();
  await store.add([record(500)]);
  // The folder is away for the next file: a name that is taken stands for any refusal of the file system.
  const blocked = join(folder, "logs", "00000002.ndjson");
  mkdirSync(blocked);
  await store.add([record(600, `"${"x".repeat(5_000)}"`)]);
  await store.add([one, other]);
  expect(troubles).toHaveLength(1);
  rmSync(blocked, { recursive: true });
  expect(await store.add([one])).toMatchObject({ stored: 0, duplicates: 1 });
  const kept = await idsIn(await reopen());
  expect([kept.includes(one.head.id), kept.includes(other.head.id)]).toEqual([true, false]);
});

test("the oldest files go; the newest records stay", async () => {
  const records = Array.from({ length: 100 }, (_, index) => record(index, `"${"x".repeat(500)}"`));
  const store = open();
  for (const one of records) await store.add([one]);
  expect(files()).toHaveLength(4);
  const kept = await idsIn(await reopen());
  expect(kept.length).toBeGreaterThanOrEqual(8);
  expect(kept).toEqual(
    records
      .map(({ head }) => head.id)
      .toReversed()
      .slice(0, kept.length),
  );
});

test("a folder that cannot be written is told once, and records stay in memory", async () => {
  writeFileSync(join(folder, "logs"), "no folder");
  const store = open();
  const one = record(1_000);
  await store.add([one]);
  await store.add([record(2_000)]);
  expect(troubles).toHaveLength(1);
  expect((await idsIn(store)).includes(one.head.id)).toBe(true);
});

test.skipIf(!canMountSmallDisk())("a disk that is full costs nothing that it holds, and is written again when there is room", async () => {
  const disk = await mountSmallDisk();
  try {
    const limits = { fileBytes: 4_000, files: 4 };
    const openHere = (): LogStore =>
      openKeptLogStore({ folder: join(disk.path, "logs"), limits, onTrouble: (error) => troubles.push(error) });
    const store = openHere();
    const [first, last] = [record(1_000), record(3_000)];
    await store.add([first]);
    const filler = join(disk.path, "filler");
    expect(() => writeFileSync(filler, Buffer.alloc(2 * 1024 * 1024))).toThrow("ENOSPC");
    for (let time = 2_000; time < 2_020; time++) await store.add([record(time, `"${"x".repeat(5_000)}"`)]);
    expect(troubles).toEqual([expect.objectContaining({ code: "ENOSPC" })]);
    rmSync(filler);
    await store.add([last]);
    await store.close();
    const again = openHere();
    expect(await idsIn(again)).toEqual([last.head.id, first.head.id]);
    await again.close();
  } finally {
    await disk.remove();
  }
});
