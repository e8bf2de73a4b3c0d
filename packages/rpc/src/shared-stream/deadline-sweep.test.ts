import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DeadlineSweep } from "./deadline-sweep.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});

afterEach(() => {
  vi.useRealTimers();
});

function sweep() {
  const calls = new Set<{ deadline: number }>();
  const ends: [number, number][] = [];
  const deadlines = new DeadlineSweep<{ deadline: number }>(
    () => calls,
    (call) => {
      calls.delete(call);
      ends.push([call.deadline - 1_000_000, Date.now() - 1_000_000]);
    },
  );
  const add = (ms: number) => {
    const call = { deadline: 1_000_000 + ms };
    calls.add(call);
    deadlines.watch(call.deadline);
    return call;
  };
  return { calls, ends, deadlines, add };
}

test("each call ends at its deadline, 10 ms later at most, whatever the order they came in", () => {
  const { ends, add } = sweep();
  for (const ms of [500, 20, 21, 29, 45, 30_000, 3]) add(ms);
  vi.advanceTimersByTime(40_000);
  expect(ends.map(([deadline]) => deadline)).toEqual([3, 20, 21, 29, 45, 500, 30_000]);
  for (const [deadline, at] of ends) {
    expect(at).toBeGreaterThanOrEqual(deadline);
    expect(at).toBeLessThanOrEqual(deadline + 10);
  }
  expect(vi.getTimerCount()).toBe(0);
});

test("calls that ended before leave nothing but one timer, which is not set again", () => {
  const { calls, ends, add } = sweep();
  for (let ms = 1_000; ms > 900; ms -= 1) calls.delete(add(ms));
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(2_000);
  expect([ends, vi.getTimerCount()]).toEqual([[], 0]);
});

test("a deadline beyond what a timer reaches, none, and a stop", () => {
  const { ends, deadlines, add } = sweep();
  add(Number.POSITIVE_INFINITY);
  expect(vi.getTimerCount()).toBe(0);
  add(2 ** 31 + 5_000);
  vi.advanceTimersByTime(2 ** 31);
  expect(ends).toEqual([]);
  vi.advanceTimersByTime(5_010);
  expect(ends).toHaveLength(1);
  add(2 ** 32);
  deadlines.stop();
  expect(vi.getTimerCount()).toBe(0);
});
