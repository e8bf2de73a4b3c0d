import type { Logger } from "@unigate/runtime";
import { expect, test } from "vitest";
import { createBackground } from "./background.ts";

const warned: unknown[] = [];
const log = { warn: (fields: object) => void warned.push(fields) } as unknown as Logger;
const MIB = 1_024 * 1_024;

/** Work that ends when it is told to, and how much of it has begun. */
function holding(): { begun: number; work: () => Promise<void>; end: () => void } {
  const ends: (() => void)[] = [];
  const held = {
    begun: 0,
    work: () => {
      held.begun += 1;
      return new Promise<void>((resolve) => ends.push(resolve));
    },
    end: () => {
      for (const end of ends.splice(0)) end();
    },
  };
  return held;
}

test("what has no room waits, and what is too much is refused and counted", async () => {
  const background = createBackground(log);
  const held = holding();
  const taken = Array.from({ length: 1_100 }, () => background.run(held.work, 0));
  expect([held.begun, taken.filter(Boolean).length, background.dropped]).toEqual([64, 1_064, 36]);
  const done = background.finish(60_000);
  while (held.begun < 1_064) {
    held.end();
    await new Promise((resolve) => setImmediate(resolve));
  }
  held.end();
  await done;
  expect(background.cancel.cancelled).toBe(false);
});

test("bytes are counted until the work is done", async () => {
  const background = createBackground(log);
  const held = holding();
  expect([background.run(held.work, 40 * MIB), background.run(held.work, 40 * MIB)]).toEqual([true, false]);
  held.end();
  await background.finish(60_000);
  expect(background.run(held.work, 40 * MIB)).toBe(true);
  held.end();
  await background.finish(60_000);
});

test("a failure is told and stops nothing", async () => {
  const background = createBackground(log);
  background.run(() => Promise.reject(new Error("broken")), 0);
  let ran = false;
  background.run(() => {
    ran = true;
    return Promise.resolve();
  }, 0);
  await background.finish(60_000);
  expect([ran, warned]).toEqual([true, [{ error: "Error: broken" }]]);
});

test("what takes too long at the end is cancelled", async () => {
  const background = createBackground(log);
  background.run(() => new Promise<void>((resolve) => background.cancel.onCancel(() => resolve())), 0);
  await background.finish(1);
  expect(background.cancel.reason).toBe("shutdown");
});
