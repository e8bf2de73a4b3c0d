import { describe, expect, test } from "vitest";
import { createMemoryCounters } from "./memory.ts";
import { CountersFullError, type ReserveCall, type SettleCall, type Take } from "./port.ts";

const MINUTE = 60_000;
const START = Date.parse("2026-03-04T05:06:07.890Z");

function manualClock(): { now(): number; advance(ms: number): void } {
  let time = START;
  return {
    now: () => time,
    advance(ms) {
      time += ms;
    },
  };
}

function take(over: Partial<Take> = {}): Take {
  return { limitId: "rpm", bucket: "", measure: "requests", windowMs: MINUTE, limit: 3, amount: 1, ...over };
}

function reserving(reservationId: string, over: Partial<ReserveCall> = {}): ReserveCall {
  return { organisationId: "org-a", reservationId, attempt: 0, leaseMs: MINUTE, request: [take()], target: null, ...over };
}

function settling(reservationId: string, over: Partial<SettleCall> = {}): SettleCall {
  return {
    organisationId: "org-a",
    reservationId,
    attempt: 0,
    tokens: null,
    costMicro: null,
    refundRequest: false,
    refundTarget: false,
    last: true,
    ...over,
  };
}

test("a finished or lost reservation leaves nothing but its windows", async () => {
  const clock = manualClock();
  const counters = createMemoryCounters({ clock });
  const slot = take({ limitId: "slots", windowMs: null });
  for (const id of ["finished", "lost"])
    await counters.reserve(reserving(id, { request: [slot, take()], target: [{ ...slot, limitId: "target" }] }));
  expect(counters.size()).toBe(5);
  await counters.settle(settling("finished"));
  expect(counters.size()).toBe(4);
  clock.advance(MINUTE);
  await counters.settle(settling("lost"));
  expect(counters.size()).toBe(1);
});

describe("the store itself", () => {
  test("ended windows and lost leases do not pile up", async () => {
    const clock = manualClock();
    const counters = createMemoryCounters({ clock });
    for (let index = 0; index < 2_000; index += 1) {
      await counters.reserve(reserving(`r${index}`, { leaseMs: 1_000, request: [take({ bucket: String(index) })] }));
      clock.advance(100);
    }
    expect(counters.size()).toBeLessThan(700);
  });

  test("it is full at its bound and says so, and ended things make room", async () => {
    const clock = manualClock();
    const counters = createMemoryCounters({ clock, maxEntries: 4 });
    for (const id of ["a", "b"]) await counters.reserve(reserving(id, { request: [take({ bucket: id })] }));
    await expect(counters.reserve(reserving("c", { request: [take({ bucket: "c" })] }))).rejects.toThrow(CountersFullError);
    clock.advance(2 * MINUTE);
    expect((await counters.reserve(reserving("c", { request: [take({ bucket: "c" })] }))).request?.allowed).toBe(true);
  });
});
