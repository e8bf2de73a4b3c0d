import { expect, test } from "vitest";
import { restartWait } from "./restart-wait.ts";

test("a worker that fails again and again waits longer, up to 10 s", () => {
  const waits: number[] = [];
  for (let wait = 0; waits.length < 9; ) waits.push((wait = restartWait(wait, 29_999)));
  expect(waits).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
});

test("a life of 30 s makes it begin anew", () => {
  expect(restartWait(10_000, 30_000)).toBe(100);
});
