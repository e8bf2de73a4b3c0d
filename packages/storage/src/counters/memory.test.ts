import { describe, expect, test } from "vitest";
import { MINUTE, manualClock, reserving, settling, take } from "./counters.fixture.ts";
import { createMemoryCounters } from "./memory.ts";
import { CountersFullError } from "./port.ts";

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
