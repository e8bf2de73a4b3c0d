import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AppendBatch } from "@unigate/contracts";
import type { Call } from "@unigate/core";
import { type LogDraft, MAX_BODY_BYTES, newHead } from "@unigate/events";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { SpoolLimits } from "./limits.ts";
import { createSpool, type Spool } from "./spool.ts";
import { startedRequest } from "./started.fixture.ts";

let dir = "";
let spools: Spool[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "unigate-spool-"));
});
afterEach(async () => {
  await Promise.all(spools.map((one) => one.close()));
  spools = [];
  await rm(dir, { recursive: true, force: true });
});

/** Where records go: acknowledged, refused, never answered, or failed with an error, as the test says. */
class Destination {
  mode: "take" | "refuse" | "hang" | "throw" = "take";
  calls = 0;
  batches: AppendBatch[] = [];
  /** Batches that were shown, acknowledged or not. */
  seen: string[][] = [];

  get ids(): string[] {
    return this.batches.flatMap(idsOf);
  }

  deliver = (batch: AppendBatch, call: Call): Promise<boolean> => {
    this.calls += 1;
    this.seen.push(idsOf(batch));
    if (this.mode === "throw") return Promise.reject(new Error("down"));
    if (this.mode === "refuse") return Promise.resolve(false);
    if (this.mode === "hang") return new Promise((resolve) => call.cancel.onCancel(() => resolve(false)));
    this.batches.push(batch);
    return Promise.resolve(true);
  };
}

function idsOf(batch: AppendBatch): string[] {
  return batch.records.map((record) => (JSON.parse(record.toString("utf8")) as { id: string }).id);
}

let dropped = 0;
function start(destination: Destination, limits: Partial<SpoolLimits> = {}): Spool {
  dropped = 0;
  const spool = createSpool({
    dir,
    deliver: destination.deliver,
    log: { info() {}, warn() {} },
    limits: { writeDelayMs: 1, deliverDelayMs: 1, backoffMs: 1, maxBackoffMs: 5, rescanMs: 20, ...limits },
    onDrop: (records) => {
      dropped += records;
    },
  });
  spools.push(spool);
  return spool;
}

function draft(id: string, body = 0): LogDraft {
  const bytes = body === 0 ? null : Buffer.alloc(body, "x");
  return { head: newHead(id, 1), request: { headers: null, body: bytes, json: false, truncated: false }, response: null };
}

function offerAll(spool: Spool, count: number, from = 0, body = 0): string[] {
  const ids = Array.from({ length: count }, (_, index) => String(from + index));
  for (const id of ids) expect(spool.offer(draft(id, body))).toBe(true);
  return ids;
}

const soon = () => Date.now() + 15_000;
const eventually = (condition: () => void | Promise<void>) => vi.waitFor(condition, { timeout: 15_000, interval: 5 });
const written = (spool: Spool) => eventually(() => expect(spool.stats().waitingRecords).toBe(0));

describe("delivery", () => {
  test("records come in order, in bounded batches, and nothing is left behind", async () => {
    const destination = new Destination();
    const spool = start(destination, { batchRecords: 50 });
    const ids = offerAll(spool, 1_234);
    expect(destination.batches).toEqual([]);
    expect(await spool.flush(soon())).toBe(0);
    expect(destination.ids).toEqual(ids);
    expect(spool.stats()).toMatchObject({
      records: 0,
      stored: 1_234,
      dropped: 0,
      breaks: 0,
      waitingRecords: 0,
      waitingBytes: 0,
      oldestMs: 0,
    });
    const offsets = destination.batches.map(({ offset }) => offset);
    expect(offsets).toEqual(offsets.toSorted((left, right) => left - right));
    expect(offsets.at(-1)).toBe(1_234);
    expect(new Set(destination.batches.map(({ spoolId }) => spoolId)).size).toBe(1);
    await spool.close();
    expect(await readdir(dir)).toEqual([]);
  });

  test("any sizes, with and without room in memory, in small segments: the same order", async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.constantFrom(0, 30_000, 8_000_000),
        fc.integer({ min: 1, max: 20 }),
        async (list, tailBytes, batchRecords) => {
          const destination = new Destination();
          destination.mode = "refuse";
          const spool = start(destination, { tailBytes, batchRecords, batchBytes: 50_000, segmentBytes: 100_000 });
          const half = Math.ceil(list.length / 2);
          for (const [index, size] of list.slice(0, half).entries()) spool.offer(draft(String(index), size));
          await written(spool);
          expect(spool.stats().records).toBe(half);
          destination.mode = "take";
          for (const [index, size] of list.slice(half).entries()) spool.offer(draft(String(half + index), size));
          expect(await spool.flush(soon())).toBe(0);
          expect(destination.ids).toEqual(list.map((_, index) => String(index)));
          expect(spool.stats()).toMatchObject({ dropped: 0, damaged: 0, waitingBytes: 0 });
          await spool.close();
        },
      ),
      { numRuns: 25 },
    );
    expect(await readdir(dir)).toEqual([]);
  });

  test("a record alone is delivered by itself, and its body as far as it is kept", async () => {
    const destination = new Destination();
    const spool = start(destination);
    spool.offer(draft("0", 3 * MAX_BODY_BYTES));
    await eventually(() => expect(spool.stats().stored).toBe(1));
    const record = JSON.parse(String(destination.batches[0]?.records[0])) as { request: { body: string; truncated: boolean } };
    expect(record.request.truncated).toBe(true);
    expect(record.request.body.length).toBeLessThanOrEqual(MAX_BODY_BYTES);
  });

  test.each(["refuse", "throw"] as const)("%s: sent again until taken, in order, nothing lost", async (mode) => {
    const destination = new Destination();
    destination.mode = mode;
    const spool = start(destination);
    const ids = offerAll(spool, 300);
    await eventually(() => expect(spool.stats().breaks).toBeGreaterThan(3));
    expect(spool.stats()).toMatchObject({ records: 300, stored: 0, dropped: 0 });
    destination.mode = "take";
    expect(await spool.flush(soon())).toBe(0);
    expect(destination.ids).toEqual(ids);
  });

  test("a delivery that does not answer is given up and made again", async () => {
    const destination = new Destination();
    destination.mode = "hang";
    const spool = start(destination, { deliverTimeoutMs: 20 });
    const ids = offerAll(spool, 3);
    await eventually(() => expect(destination.calls).toBeGreaterThan(1));
    destination.mode = "take";
    expect(await spool.flush(soon())).toBe(0);
    expect(destination.ids).toEqual(ids);
  });

  test("a head that cannot be written is dropped alone", async () => {
    const destination = new Destination();
    const spool = start(destination);
    offerAll(spool, 1);
    spool.offer({ ...draft("bad"), head: { ...newHead("bad", 1), decision: { value: 1n } } });
    offerAll(spool, 1, 1);
    expect(await spool.flush(soon())).toBe(0);
    expect(destination.ids).toEqual(["0", "1"]);
    expect([dropped, spool.stats().dropped]).toEqual([1, 1]);
  });

  test("flush gives up at its deadline and says what is left; a closed spool takes nothing", async () => {
    const destination = new Destination();
    destination.mode = "hang";
    const spool = start(destination);
    offerAll(spool, 5);
    expect(await spool.flush(Date.now() + 20)).toBe(5);
    await spool.close();
    expect(dropped).toBe(0);
    expect(spool.offer(draft("late"))).toBe(false);
    expect(spool.started(startedRequest("late"))).toBe(0);
  });

  test("an empty spool leaves nothing behind, closed at once or later", async () => {
    const spool = start(new Destination());
    expect(await spool.flush(soon())).toBe(0);
    await spool.close();
    expect(await readdir(dir)).toEqual([]);
    const other = start(new Destination());
    await vi.waitFor(async () => expect((await readdir(dir)).length).toBe(2));
    await other.close();
    expect(await readdir(dir)).toEqual([]);
  });

  test("the folder is there before the first record, which would else wait longer than 10 ms", async () => {
    start(new Destination());
    await vi.waitFor(async () => expect(await readdir(dir, { recursive: true })).toContainEqual(expect.stringMatching(/^edge-.*\/owner$/)));
  });
});

describe("a restart", () => {
  test("what was not delivered is, by the next process, and then the old folder is gone", async () => {
    const first = new Destination();
    first.mode = "hang";
    const before = start(first);
    const ids = offerAll(before, 100);
    await before.flush(Date.now());
    await written(before);
    await before.close();
    expect(await readdir(dir)).toHaveLength(1);
    const second = new Destination();
    const after = start(second);
    await eventually(() => expect(second.ids).toEqual(ids));
    await after.close();
    expect(await readdir(dir)).toEqual([]);
    expect(after.stats()).toMatchObject({ torn: 0, damaged: 0, interrupted: 0 });
  });

  test("half acknowledged: only the other half is sent again", async () => {
    const first = new Destination();
    const before = start(first, { batchRecords: 10, tailBytes: 0 });
    const ids = offerAll(before, 40);
    await eventually(() => expect(first.ids).toEqual(ids));
    first.mode = "hang";
    const more = offerAll(before, 40, 40);
    await written(before);
    await before.close();
    const second = new Destination();
    const after = start(second);
    await eventually(() => expect(second.ids).toEqual(more));
    expect(await after.flush(soon())).toBe(0);
    expect(second.ids).toEqual(more);
  });

  test("records of a folder taken over come beside the own ones, each in order; a chain of closes loses none", async () => {
    const down = new Destination();
    down.mode = "refuse";
    const expected: string[][] = [];
    for (const round of [0, 1, 2]) {
      const one = start(down);
      expected.push(offerAll(one, 20, round * 100));
      await written(one);
      await one.close();
    }
    const destination = new Destination();
    const last = start(destination);
    expected.push(offerAll(last, 20, 300));
    await eventually(() => expect(last.stats().stored).toBe(80));
    for (const ids of expected) expect(destination.ids.filter((id) => ids.includes(id))).toEqual(ids);
    expect(new Set(destination.batches.map(({ spoolId }) => spoolId)).size).toBe(4);
    await last.close();
    expect(await readdir(dir)).toEqual([]);
  });
});

describe("open requests", () => {
  test("the ended leave nothing; the others are recovered as interrupted, even when their segment is long gone", async () => {
    const destination = new Destination();
    const before = start(destination, { segmentBytes: 20_000 });
    const numbers = ["open", "ended", "recorded", "tried"].map((id) => before.started(startedRequest(id)));
    const [, ended = 0, recorded = 0, tried = 0] = numbers;
    expect(new Set(numbers).size).toBe(4);
    expect(numbers).not.toContain(0);
    // Written, so that their starts are on disk before they end.
    offerAll(before, 1);
    await written(before);
    before.ended(ended);
    before.ended(ended);
    before.offer(draft("r"), recorded, true);
    before.ended(recorded);
    before.offer(draft("t"), tried);
    for (let from = 1; from < 400; from += 50) {
      offerAll(before, 50, from);
      await written(before);
    }
    expect(await before.flush(soon())).toBe(0);
    expect(before.stats()).toMatchObject({ openRequests: 2, segments: 1 });
    await before.close();
    expect(await readdir(dir)).toHaveLength(1);

    const second = new Destination();
    const after = start(second);
    await eventually(() => expect(after.stats().stored).toBe(2));
    const made = second.batches.flatMap(({ records }) => records.map((record) => JSON.parse(String(record)) as Record<string, unknown>));
    expect(made.map((one) => [one["request_id"], one["outcome"]])).toEqual([
      ["open", "interrupted"],
      ["tried", "interrupted"],
    ]);
    expect(after.stats().interrupted).toBe(2);
    await after.close();
    expect(await readdir(dir)).toEqual([]);
  });

  test("a request that starts and ends at once costs the disk nothing", async () => {
    const spool = start(new Destination());
    for (let index = 0; index < 100; index++) spool.ended(spool.started(startedRequest(String(index))));
    await spool.flush(soon());
    offerAll(spool, 1);
    await spool.flush(soon());
    expect(spool.stats()).toMatchObject({ openRequests: 0, stored: 1 });
    expect(spool.stats().diskBytes).toBeLessThan(2_000);
  });
});

describe("bounds", () => {
  test("the disk: the oldest segments go, counted, and what is left is the newest, in order", async () => {
    const destination = new Destination();
    destination.mode = "refuse";
    const spool = start(destination, { maxBytes: 400_000, segmentBytes: 50_000, tailBytes: 20_000 });
    const ids: string[] = [];
    for (let from = 0; from < 1_000; from += 20) {
      ids.push(...offerAll(spool, 20, from, 1_000));
      await written(spool);
      // One segment may be on its way to its end, and one is being delivered.
      expect(spool.stats().diskBytes).toBeLessThanOrEqual(400_000 + 50_000);
    }
    const { records, dropped: lost } = spool.stats();
    expect(records + lost).toBe(1_000);
    expect(lost).toBeGreaterThan(500);
    expect(lost).toBe(dropped);
    destination.mode = "take";
    expect(await spool.flush(soon())).toBe(0);
    const kept = new Set(destination.ids);
    expect(destination.ids).toEqual(ids.filter((id) => kept.has(id)));
    expect(kept.size).toBe(spool.stats().stored);
    expect(kept.has("999")).toBe(true);
  });

  test("the files on disk are what the numbers say", async () => {
    const destination = new Destination();
    destination.mode = "refuse";
    const spool = start(destination, { segmentBytes: 30_000 });
    for (let from = 0; from < 100; from += 10) {
      offerAll(spool, 10, from, 1_000);
      await written(spool);
    }
    await spool.flush(Date.now() + 1);
    const [folder = ""] = (await readdir(dir)).filter((name) => !name.endsWith(".lock"));
    const files = (await readdir(join(dir, folder))).filter((name) => name.endsWith(".segment"));
    const sizes = await Promise.all(files.map(async (name) => (await stat(join(dir, folder, name))).size));
    expect(spool.stats()).toMatchObject({ segments: files.length, diskBytes: sizes.reduce((sum, size) => sum + size, 0) });
    expect(files.length).toBeGreaterThan(3);
    expect(spool.stats().oldestMs).toBeGreaterThanOrEqual(0);
  });

  test("memory: what a tick brings beyond the bound pushes out the oldest", async () => {
    const destination = new Destination();
    const spool = start(destination, { memoryBytes: 100_000 });
    offerAll(spool, 100, 0, 8_500);
    expect(spool.stats().waitingBytes).toBeLessThanOrEqual(100_000);
    expect(dropped).toBe(90);
    expect(await spool.flush(soon())).toBe(0);
    expect(destination.ids).toEqual(Array.from({ length: 10 }, (_, index) => String(90 + index)));
  });

  test("a segment that vanishes costs its records only", async () => {
    const destination = new Destination();
    destination.mode = "refuse";
    const spool = start(destination, { segmentBytes: 30_000, tailBytes: 0 });
    for (let from = 0; from < 100; from += 10) {
      offerAll(spool, 10, from, 1_000);
      await written(spool);
    }
    const [folder = ""] = (await readdir(dir)).filter((name) => !name.endsWith(".lock"));
    await rm(join(dir, folder, "00000002.segment"));
    destination.mode = "take";
    expect(await spool.flush(soon())).toBe(0);
    expect(spool.stats().dropped).toBeGreaterThan(0);
    expect(spool.stats()).toMatchObject({ damaged: 1, records: 0, stored: 100 - spool.stats().dropped });
  });
});
