import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createMemoryCounters } from "./memory.ts";
import { CountersFullError, type ReserveCall, type SettleCall, type Take } from "./port.ts";
import { windowStart } from "./window.ts";

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

function setUp() {
  const clock = manualClock();
  const counters = createMemoryCounters({ clock });
  /** What is left of a take's limit, asked without keeping anything. */
  async function left(of: Take, organisationId = "org-a"): Promise<number> {
    const probe = { ...of, limit: Number.MAX_SAFE_INTEGER, amount: 0 };
    const result = await counters.reserve(reserving("probe", { organisationId, request: [probe] }));
    await counters.settle(settling("probe", { organisationId }));
    return of.limit - (Number.MAX_SAFE_INTEGER - (result.request?.remaining[0]?.left ?? 0));
  }
  return { clock, counters, left };
}

describe("requests", () => {
  test("a window grants exactly its limit and the next one starts anew", async () => {
    const { clock, counters } = setUp();
    const verdicts = [];
    for (let index = 0; index < 5; index += 1) verdicts.push((await counters.reserve(reserving(`r${index}`))).request);
    expect(verdicts.map((verdict) => verdict?.allowed)).toEqual([true, true, true, false, false]);
    expect(verdicts.map((verdict) => verdict?.remaining[0]?.left)).toEqual([2, 1, 0, 0, 0]);
    const end = Date.parse("2026-03-04T05:07:00.000Z");
    expect(verdicts[4]).toEqual({ allowed: false, refusedAt: 0, retryAfterMs: end - START, remaining: [{ left: 0, resetsAt: end }] });
    clock.advance(end - START);
    expect((await counters.reserve(reserving("r9"))).request?.allowed).toBe(true);
  });

  test("settling returns no request", async () => {
    const { counters, left } = setUp();
    await counters.reserve(reserving("a"));
    await counters.settle(settling("a", { tokens: 500 }));
    expect(await left(take())).toBe(2);
  });

  test("0 blocks, whatever the amount", async () => {
    const { counters } = setUp();
    for (const amount of [0, 1]) {
      const result = await counters.reserve(reserving(`r${amount}`, { request: [take({ limit: 0, amount })] }));
      expect(result.request?.allowed).toBe(false);
    }
  });

  test("organisations, limits and buckets do not share", async () => {
    const { counters, left } = setUp();
    await counters.reserve(reserving("a", { request: [take({ limitId: "a", bucket: "1:b" })] }));
    expect(await left(take({ limitId: "a", bucket: "1:b" }))).toBe(2);
    expect(await left(take({ limitId: "a", bucket: "1:b" }), "org-b")).toBe(3);
    expect(await left(take({ limitId: "a", bucket: "b" }))).toBe(3);
    expect(await left(take({ limitId: "a:1", bucket: "b" }))).toBe(3);
  });

  test("never more grants in a window than its limit, never a refusal before, and the wait ends with the window", async () => {
    const step = fc.record({ advance: fc.integer({ min: 0, max: 20_000 }), key: fc.constantFrom("a", "b"), settle: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), fc.integer({ min: 1, max: 4 }), async (steps, limit) => {
        const { clock, counters } = setUp();
        const granted = new Map<string, number>();
        for (const [index, { advance, key, settle }] of steps.entries()) {
          clock.advance(advance);
          const start = windowStart(clock.now(), MINUTE);
          const counted = granted.get(`${key} ${start}`) ?? 0;
          const { request } = await counters.reserve(reserving(`r${index}`, { request: [take({ bucket: key, limit })] }));
          expect(request?.allowed).toBe(counted < limit);
          expect(request?.retryAfterMs).toBe(counted < limit ? 0 : start + MINUTE - clock.now());
          if (request?.allowed === true) granted.set(`${key} ${start}`, counted + 1);
          if (settle) await counters.settle(settling(`r${index}`));
        }
      }),
    );
  });
});

describe("several limits", () => {
  test("all or nothing, and the refusal names the one that stays shut the longest", async () => {
    const { counters, left } = setUp();
    const minute = take({ limit: 1 });
    const hour = take({ limitId: "rph", windowMs: 3_600_000, limit: 2 });
    const wide = take({ limitId: "rpd", windowMs: 86_400_000, limit: 100 });
    const all = [minute, hour, wide];
    expect((await counters.reserve(reserving("a", { request: all }))).request?.allowed).toBe(true);
    const second = (await counters.reserve(reserving("b", { request: all }))).request;
    expect(second).toMatchObject({ allowed: false, refusedAt: 0 });
    expect(second?.remaining.map((one) => one.left)).toEqual([0, 1, 99]);
    await counters.reserve(reserving("c", { request: [hour] }));
    expect((await counters.reserve(reserving("d", { request: all }))).request).toMatchObject({
      allowed: false,
      refusedAt: 1,
      retryAfterMs: Date.parse("2026-03-04T06:00:00.000Z") - START,
    });
    expect(await left(wide)).toBe(99);
  });

  test("a refused target leaves the request taken; a refused request leaves the target untried", async () => {
    const { counters, left } = setUp();
    const key = take({ limitId: "key", limit: 2 });
    const target = take({ limitId: "target", limit: 1 });
    const both = { request: [key], target: [target] };
    expect(await counters.reserve(reserving("a", both))).toMatchObject({ request: { allowed: true }, target: { allowed: true } });
    expect(await counters.reserve(reserving("b", both))).toMatchObject({ request: { allowed: true }, target: { allowed: false } });
    const third = await counters.reserve(reserving("c", both));
    expect(third).toMatchObject({ request: { allowed: false }, target: null });
    expect(await left(key)).toBe(0);
    expect(await left(target)).toBe(0);
  });

  test("a refund gives back the scope it names", async () => {
    const { counters, left } = setUp();
    const key = take({ limitId: "key" });
    const target = take({ limitId: "target" });
    await counters.reserve(reserving("a", { request: [key], target: [target] }));
    await counters.settle(settling("a", { refundTarget: true }));
    expect([await left(key), await left(target)]).toEqual([2, 3]);
    await counters.reserve(reserving("b", { request: [key], target: [target] }));
    await counters.settle(settling("b", { refundRequest: true }));
    expect([await left(key), await left(target)]).toEqual([2, 2]);
  });
});

describe("tokens", () => {
  const tokens = (amount: number, limit = 1_000) => take({ limitId: "tpm", measure: "tokens", limit, amount });

  test("the real use replaces the estimate in the window of the reservation", async () => {
    const { clock, counters, left } = setUp();
    await counters.reserve(reserving("a", { request: [tokens(400)] }));
    await counters.settle(settling("a", { tokens: 150 }));
    expect(await left(tokens(0))).toBe(850);
    await counters.reserve(reserving("b", { request: [tokens(400)] }));
    clock.advance(MINUTE - 5_000);
    await counters.settle(settling("b", { tokens: 900 }));
    expect(await left(tokens(0))).toBe(1_000);
  });

  test("every attempt's use is added to the request's limits, in any order of settling", async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2], { minLength: 3 }), async (order) => {
        const { counters, left } = setUp();
        const target = (attempt: number) => take({ limitId: `target${attempt}`, measure: "tokens", limit: 1_000, amount: 200 });
        await counters.reserve(reserving("a", { request: [tokens(300)], target: [target(0)] }));
        for (const attempt of [1, 2]) await counters.reserve(reserving("a", { attempt, request: null, target: [target(attempt)] }));
        for (const attempt of order) await counters.settle(settling("a", { attempt, tokens: 10 * (attempt + 1), last: attempt === 2 }));
        expect(await left(tokens(0))).toBe(1_000 - 60);
        for (const attempt of [0, 1, 2]) expect(await left(target(attempt))).toBe(1_000 - 10 * (attempt + 1));
        expect(counters.size()).toBe(4);
      }),
    );
  });

  test("the sum of estimates never passes the limit, and settling any number of times counts once", async () => {
    const step = fc.record({ estimate: fc.integer({ min: 1, max: 400 }), used: fc.integer({ min: 0, max: 400 }), times: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const { counters, left } = setUp();
        let taken = 0;
        for (const [index, { estimate, used, times }] of steps.entries()) {
          const { request } = await counters.reserve(reserving(`r${index}`, { request: [tokens(estimate)] }));
          expect(request?.allowed).toBe(taken + estimate <= 1_000);
          if (request?.allowed !== true) continue;
          for (let time = 0; time < times; time += 1) await counters.settle(settling(`r${index}`, { tokens: used, last: time % 2 === 0 }));
          taken += times === 0 ? estimate : used;
          expect(await left(tokens(0))).toBe(1_000 - taken);
        }
      }),
    );
  });

  test("unknown use stays at the estimate", async () => {
    const { counters, left } = setUp();
    await counters.reserve(reserving("a", { request: [tokens(400)] }));
    await counters.settle(settling("a", { tokens: null }));
    expect(await left(tokens(0))).toBe(600);
  });
});

describe("concurrency", () => {
  const slots = take({ limitId: "slots", windowMs: null, limit: 2 });

  test("a slot is free when the last attempt is settled, not before", async () => {
    const { counters, left } = setUp();
    await counters.reserve(reserving("a", { request: [slots] }));
    await counters.reserve(reserving("b", { request: [slots] }));
    const third = await counters.reserve(reserving("c", { request: [slots] }));
    expect(third.request).toEqual({ allowed: false, refusedAt: 0, retryAfterMs: 1_000, remaining: [{ left: 0, resetsAt: 0 }] });
    await counters.settle(settling("a", { last: false }));
    expect(await left(slots)).toBe(0);
    await counters.settle(settling("a", { attempt: 1, last: true }));
    expect(await left(slots)).toBe(1);
  });

  test("a target's slot is free when its attempt is settled", async () => {
    const { counters, left } = setUp();
    await counters.reserve(reserving("a", { request: null, target: [slots] }));
    await counters.settle(settling("a", { last: false }));
    expect(await left(slots)).toBe(2);
  });

  test("a lost lease frees its slot and leaves its estimate charged", async () => {
    const { clock, counters, left } = setUp();
    const tokens = take({ limitId: "tpd", measure: "tokens", windowMs: 86_400_000, limit: 1_000, amount: 400 });
    await counters.reserve(reserving("a", { request: [slots, tokens], target: [{ ...slots, limitId: "target" }] }));
    clock.advance(MINUTE);
    expect(await left(slots)).toBe(2);
    expect(await left({ ...slots, limitId: "target" })).toBe(2);
    await counters.settle(settling("a", { tokens: 0 }));
    expect(await left(tokens)).toBe(600);
    expect(counters.size()).toBe(1);
  });

  test("never more held than the limit, for any interleaving of reserving, settling and losing", async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("reserve" as const), leaseMs: fc.integer({ min: 1, max: 5_000 }) }),
      fc.record({ kind: fc.constant("settle" as const), which: fc.nat(10) }),
      fc.record({ kind: fc.constant("advance" as const), ms: fc.integer({ min: 1, max: 3_000 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const { clock, counters } = setUp();
        const held: { id: string; until: number }[] = [];
        for (const [index, action] of steps.entries()) {
          const live = held.filter((one) => one.until > clock.now());
          held.splice(0, held.length, ...live);
          if (action.kind === "advance") clock.advance(action.ms);
          else if (action.kind === "settle") {
            const [gone] = held.splice(action.which % Math.max(1, held.length), 1);
            if (gone !== undefined) await counters.settle(settling(gone.id));
          } else {
            const { request } = await counters.reserve(reserving(`r${index}`, { leaseMs: action.leaseMs, request: [slots] }));
            expect(request?.allowed).toBe(held.length < 2);
            if (request?.allowed === true) held.push({ id: `r${index}`, until: clock.now() + action.leaseMs });
          }
        }
      }),
    );
  });
});

describe("the store itself", () => {
  test("the same reservation and attempt again takes nothing more", async () => {
    const { counters, left } = setUp();
    const call = reserving("a", { request: [take({ limit: 1 })] });
    await counters.reserve(call);
    expect((await counters.reserve(call)).request).toMatchObject({ allowed: true, remaining: [{ left: 0 }] });
    expect(await left(take({ limit: 1 }))).toBe(0);
  });

  test("ended windows and lost leases do not pile up", async () => {
    const { clock, counters } = setUp();
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
