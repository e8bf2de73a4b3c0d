import { expect, test } from "vitest";
import { createMemoryKeyValue } from "./memory.ts";

const OVERHEAD = 256;

function manualClock(start = 1_000_000): { now(): number; advance(ms: number): void } {
  let time = start;
  return {
    now: () => time,
    advance(ms) {
      time += ms;
    },
  };
}

test("a value is found until its time is over", async () => {
  const clock = manualClock();
  const store = createMemoryKeyValue({ clock });
  await store.set("a", Buffer.from("one"), 1_000);
  clock.advance(1_000);
  expect((await store.get("a"))?.toString()).toBe("one");
  clock.advance(1);
  expect(await store.get("a")).toBeNull();
  expect(store.statistics()).toMatchObject({ hits: 1, misses: 1, evicted: 0, entries: 0, bytes: 0 });
});

test("a deleted value is gone, and deleting nothing says so", async () => {
  const store = createMemoryKeyValue();
  await store.set("a", Buffer.from("one"), 1_000);
  expect(await store.delete("a")).toBe(true);
  expect(await store.delete("a")).toBe(false);
  expect(await store.get("a")).toBeNull();
});

test("peeking is neither counted nor use", async () => {
  const store = createMemoryKeyValue({ maxBytes: 2 * (10 + 2 + OVERHEAD) });
  await store.set("a", Buffer.alloc(10), 1_000);
  await store.set("b", Buffer.alloc(10), 1_000);
  expect(await store.peek("a")).toEqual(Buffer.alloc(10));
  await store.set("c", Buffer.alloc(10), 1_000);
  expect(await store.peek("a")).toBeNull();
  expect(store.statistics()).toMatchObject({ hits: 0, misses: 0, evicted: 1, entries: 2 });
});

test("bytes are bounded: the least recently used make room", async () => {
  const store = createMemoryKeyValue({ maxBytes: 3 * (10 + 2 + OVERHEAD) });
  for (const key of ["a", "b", "c"]) await store.set(key, Buffer.alloc(10), 1_000);
  await store.get("a");
  await store.set("d", Buffer.alloc(10), 1_000);
  expect(await store.get("b")).toBeNull();
  expect(await store.get("a")).not.toBeNull();
  expect(store.statistics()).toMatchObject({ evicted: 1, entries: 3, bytes: 3 * (10 + 2 + OVERHEAD) });
});

test("a value that is too big is refused and what was there is gone", async () => {
  const store = createMemoryKeyValue({ maxBytes: 10_000, maxEntryBytes: 100 });
  expect(await store.set("a", Buffer.alloc(100), 1_000)).toBe(true);
  expect(await store.set("a", Buffer.alloc(101), 1_000)).toBe(false);
  expect(await store.get("a")).toBeNull();
  expect(store.statistics().refused).toBe(1);
});

test("a kept view does not keep the buffer below it", async () => {
  const store = createMemoryKeyValue();
  const big = Buffer.alloc(1_000_000, "x");
  await store.set("a", big.subarray(0, 10), 1_000);
  const kept = await store.get("a");
  expect(kept?.toString()).toBe("xxxxxxxxxx");
  expect(kept?.buffer.byteLength).toBe(10);
});
