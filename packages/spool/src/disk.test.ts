import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AppendBatch } from "@unigate/contracts";
import { newHead } from "@unigate/events";
import { canMountSmallDisk, mountSmallDisk, type SmallDisk } from "@unigate/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createSpool, type Spool, type SpoolDeps } from "./spool.ts";

const eventually = (condition: () => void) => vi.waitFor(condition, { timeout: 15_000, interval: 5 });
const soon = () => Date.now() + 15_000;

interface Told {
  readonly level: "info" | "warn";
  readonly text: string;
  readonly code: unknown;
}

let told: Told[] = [];
let delivered: string[] = [];
let takes = true;
let spools: Spool[] = [];
afterEach(async () => {
  await Promise.all(spools.map((one) => one.close()));
  spools = [];
});
beforeEach(() => {
  told = [];
  delivered = [];
  takes = true;
});

function start(dir: string, limits: SpoolDeps["limits"] = {}): Spool {
  const spool = createSpool({
    dir,
    log: {
      info: (fields, text) => told.push({ level: "info", text, code: undefined }),
      warn: (fields, text) => told.push({ level: "warn", text, code: (fields as { code?: unknown }).code }),
    },
    deliver: (batch: AppendBatch) => {
      if (takes) delivered.push(...batch.records.map((record) => (JSON.parse(String(record)) as { id: string }).id));
      return Promise.resolve(takes);
    },
    limits: {
      writeDelayMs: 1,
      deliverDelayMs: 1,
      backoffMs: 1,
      maxBackoffMs: 5,
      diskRetryMs: 5,
      maxDiskRetryMs: 20,
      rescanMs: 20,
      ...limits,
    },
  });
  spools.push(spool);
  return spool;
}

let next = 0;
function offer(spool: Spool, count: number, body: number): string[] {
  const ids = Array.from({ length: count }, () => String(next++));
  const bytes = Buffer.alloc(body, "x");
  for (const id of ids)
    spool.offer({ head: newHead(id, 1), request: { headers: null, body: bytes, json: false, truncated: false }, response: null });
  return ids;
}

const warnings = () => told.filter(({ level }) => level === "warn");

describe.skipIf(!canMountSmallDisk())("a real disk of 1 MiB", () => {
  let disk = "";
  let mounted: SmallDisk | null = null;
  beforeAll(async () => {
    mounted = await mountSmallDisk();
    disk = mounted.path;
  });
  afterAll(() => mounted?.remove());

  test("full: says so once, delivers from memory, writes again when there is room", async () => {
    const spool = start(join(disk, "full"));
    takes = false;
    const ids: string[] = [];
    while (spool.stats().failing === 0) {
      ids.push(...offer(spool, 5, 10_000));
      await eventually(() => expect(spool.stats().waitingRecords === 0 || spool.stats().failing === 1).toBe(true));
    }
    ids.push(...offer(spool, 20, 10_000));
    await eventually(() => expect(spool.stats().waitingRecords).toBeGreaterThanOrEqual(20));
    expect(warnings()).toEqual([expect.objectContaining({ code: "ENOSPC" })]);
    takes = true;
    expect(await spool.flush(soon())).toBe(0);
    expect(delivered).toEqual(ids);
    // All is delivered, so its segments are gone: there is room again.
    const more = offer(spool, 3, 100);
    await eventually(() => expect(spool.stats().failing).toBe(0));
    expect(await spool.flush(soon())).toBe(0);
    expect(delivered).toEqual([...ids, ...more]);
    expect(told.map(({ level }) => level)).toEqual(["warn", "info"]);
    expect(spool.stats()).toMatchObject({ dropped: 0, damaged: 0, waitingRecords: 0 });
  });

  test("full because of others, nothing delivered: memory is bounded, the rest is written once there is room, in order", async () => {
    const dir = join(disk, "others");
    takes = false;
    const spool = start(dir, { memoryBytes: 300_000 });
    const first = offer(spool, 1, 100);
    await eventually(() => expect(spool.stats().waitingRecords).toBe(0));
    const filler = join(disk, "filler");
    await writeFile(filler, Buffer.alloc(2_000_000)).catch(() => undefined);
    const ids = [...first];
    for (let round = 0; round < 100; round++) {
      ids.push(...offer(spool, 1, 10_000));
      await eventually(() => expect(spool.stats().waitingBytes).toBeLessThanOrEqual(300_000));
    }
    await eventually(() => expect(spool.stats().failing).toBe(1));
    const { dropped, waitingRecords } = spool.stats();
    expect(dropped).toBeGreaterThan(50);
    expect(waitingRecords).toBeGreaterThan(10);
    await rm(filler);
    await eventually(() => expect(spool.stats()).toMatchObject({ failing: 0, waitingRecords: 0, waitingBytes: 0, dropped }));
    takes = true;
    expect(await spool.flush(soon())).toBe(0);
    expect(delivered).toEqual([...ids.slice(0, ids.length - waitingRecords - dropped), ...ids.slice(-waitingRecords)]);
    expect(warnings()).toHaveLength(1);
  });

  test("read-only when the process starts: works all the same", async () => {
    mounted?.writable(false);
    const spool = start(join(disk, "read-only"));
    const ids = offer(spool, 50, 100);
    expect(await spool.flush(soon())).toBe(0);
    expect(delivered).toEqual(ids);
    expect(warnings()).toEqual([expect.objectContaining({ code: "EROFS" })]);
    mounted?.writable(true);
    ids.push(...offer(spool, 1, 100));
    await eventually(() => expect(spool.stats()).toMatchObject({ failing: 0, waitingRecords: 0 }));
    expect(spool.stats().segments).toBe(1);
    expect(await spool.flush(soon())).toBe(0);
    expect(delivered).toEqual(ids);
    expect(told.map(({ level }) => level)).toEqual(["warn", "info"]);
  });
});

describe("a folder that cannot be made", () => {
  test("records are delivered from memory; closing without delivery counts them as dropped", async () => {
    const parent = await mkdtemp(join(tmpdir(), "unigate-disk-"));
    const file = join(parent, "a-file");
    await writeFile(file, "");
    const spool = start(join(file, "spool"));
    const ids = offer(spool, 10, 100);
    expect(await spool.flush(soon())).toBe(0);
    expect(delivered).toEqual(ids);
    takes = false;
    offer(spool, 7, 100);
    await spool.close();
    expect(spool.stats().dropped).toBe(7);
    expect(warnings().filter(({ code }) => code === "ENOTDIR").length).toBeLessThanOrEqual(2);
    await rm(parent, { recursive: true });
  });

  test("a folder that is removed while it is used is made again", async () => {
    const dir = await mkdtemp(join(tmpdir(), "unigate-disk-"));
    const spool = start(dir, { segmentBytes: 20_000 });
    const ids = offer(spool, 10, 1_000);
    expect(await spool.flush(soon())).toBe(0);
    await rm(dir, { recursive: true });
    for (let round = 0; round < 10; round++) {
      ids.push(...offer(spool, 10, 1_000));
      expect(await spool.flush(soon())).toBe(0);
    }
    expect(delivered).toEqual(ids);
    await eventually(() => expect(spool.stats().failing).toBe(0));
    await spool.close();
    await rm(dir, { recursive: true, force: true });
  });
});
