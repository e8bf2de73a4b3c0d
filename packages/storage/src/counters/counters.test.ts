import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storeEngines } from "../store-engines.fixture.ts";
import { MINUTE, manualClock, reserving, START, settling, take } from "./counters.fixture.ts";
import { createMemoryCounters } from "./memory.ts";
import type { Counters, Take } from "./port.ts";
import { createRedisCounters } from "./redis.ts";
import { windowStart } from "./window.ts";

/** More than any test takes, and exact in every store. */
const PLENTY = 2 ** 50;

const engines = storeEngines<Counters>({
  inMemory: (clock) => createMemoryCounters({ clock }),
  inRedis(link, clock, rename) {
    const counters = createRedisCounters(link, { clock });
    return {
      reserve: (call) => counters.reserve(rename(call)),
      peek: (call) => counters.peek(rename(call)),
      settle: (call) => counters.settle(rename(call)),
      renew: (call) => counters.renew(rename(call)),
    };
  },
});

describe.each(engines)("counters in $name", (engine) => {
  describe.skipIf(!engine.available)("the port", () => {
    beforeAll(() => engine.open());
    afterAll(() => engine.close());

    function setUp() {
      const clock = manualClock();
      const counters = engine.create(clock);
      /** What is left of a take's limit, asked without keeping anything. */
      async function left(of: Take, organisationId = "org-a"): Promise<number> {
        const probe = { ...of, limit: PLENTY, amount: 0 };
        const result = await counters.reserve(reserving("probe", { organisationId, request: [probe] }));
        await counters.settle(settling("probe", { organisationId }));
        return of.limit - (PLENTY - (result.request?.remaining[0]?.left ?? 0));
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
          { numRuns: engine.runs },
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
          }),
          { numRuns: engine.runs },
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
              for (let time = 0; time < times; time += 1)
                await counters.settle(settling(`r${index}`, { tokens: used, last: time % 2 === 0 }));
              taken += times === 0 ? estimate : used;
              expect(await left(tokens(0))).toBe(1_000 - taken);
            }
          }),
          { numRuns: engine.runs },
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
          { numRuns: engine.runs },
        );
      });
    });

    describe("repeating", () => {
      test("the same reservation and attempt again takes nothing more", async () => {
        const { counters, left } = setUp();
        const call = reserving("a", { request: [take({ limit: 1 })] });
        await counters.reserve(call);
        expect((await counters.reserve(call)).request).toMatchObject({ allowed: true, remaining: [{ left: 0 }] });
        expect(await left(take({ limit: 1 }))).toBe(0);
      });

      test("a target that was refused is tested again, and taken when it fits by then", async () => {
        const { counters, left } = setUp();
        const slot = take({ limitId: "slot", windowMs: null, limit: 1 });
        const key = take({ limitId: "key" });
        await counters.reserve(reserving("holder", { request: null, target: [slot] }));
        const call = reserving("a", { request: [key], target: [slot] });
        expect(await counters.reserve(call)).toMatchObject({ request: { allowed: true }, target: { allowed: false } });
        expect(await counters.reserve(call)).toMatchObject({ request: { allowed: true }, target: { allowed: false } });
        await counters.settle(settling("holder"));
        expect(await counters.reserve(call)).toMatchObject({
          request: { allowed: true },
          target: { allowed: true, remaining: [{ left: 0 }] },
        });
        expect(await counters.reserve(call)).toMatchObject({ target: { allowed: true, remaining: [{ left: 0 }] } });
        expect(await left(key)).toBe(2);
        await counters.settle(settling("a"));
        expect(await left(slot)).toBe(1);
      });
    });

    describe("leases", () => {
      const slots = take({ limitId: "slots", windowMs: null, limit: 9 });

      test("a renewed one lasts longer, a lost one stays lost, and another organisation's is untouched", async () => {
        const { clock, counters, left } = setUp();
        for (const id of ["a", "b", "c"]) await counters.reserve(reserving(id, { request: [slots], leaseMs: id === "c" ? 100 : 1_000 }));
        clock.advance(500);
        const renewal = { reservationIds: ["a", "c", "nobody"], leaseMs: 1_000 };
        expect(await counters.renew({ ...renewal, organisationId: "org-b" })).toEqual(["a", "c", "nobody"]);
        expect(await counters.renew({ ...renewal, organisationId: "org-a" })).toEqual(["c", "nobody"]);
        clock.advance(999);
        expect(await left(slots)).toBe(8);
        clock.advance(1);
        expect(await left(slots)).toBe(9);
      });

      test("renewing never shortens", async () => {
        const { clock, counters, left } = setUp();
        await counters.reserve(reserving("a", { request: [slots], leaseMs: 1_000 }));
        expect(await counters.renew({ organisationId: "org-a", reservationIds: ["a"], leaseMs: 1 })).toEqual([]);
        clock.advance(999);
        expect(await left(slots)).toBe(8);
      });

      test("many are renewed at once", async () => {
        const { counters } = setUp();
        const ids = Array.from({ length: 1_200 }, (_, index) => `r${index}`);
        await Promise.all(ids.map((id) => counters.reserve(reserving(id, { request: [{ ...slots, limit: 2_000 }] }))));
        expect(await counters.renew({ organisationId: "org-a", reservationIds: [...ids, "nobody"], leaseMs: 1_000 })).toEqual(["nobody"]);
      });
    });

    test("a look says what a reservation would be told, of both scopes, and takes nothing", async () => {
      const { counters, left } = setUp();
      const [request, target] = [take({ limit: 1 }), take({ limitId: "slots", windowMs: null, limit: 2 })];
      const look = () => counters.peek({ organisationId: "org-a", request: [request], target: [target] });
      expect(await look()).toMatchObject({
        request: { allowed: true, remaining: [{ left: 1 }] },
        target: { allowed: true, remaining: [{ left: 2 }] },
      });
      await counters.reserve(reserving("a", { request: [request], target: [target] }));
      expect(await look()).toMatchObject({
        request: { allowed: false, refusedAt: 0, remaining: [{ left: 0 }] },
        target: { allowed: true, remaining: [{ left: 1 }] },
      });
      expect(await left(target)).toBe(1);
      expect(await counters.peek({ organisationId: "org-a", request: null, target: [] })).toMatchObject({
        request: null,
        target: { allowed: true },
      });
    });

    test.each([null, MINUTE])("a new counter that both scopes of one call take counts both (window %s)", async (windowMs) => {
      const { counters, left } = setUp();
      const shared = take({ windowMs, limit: 9 });
      await counters.reserve(reserving("a", { request: [shared], target: [{ ...shared, amount: 2 }] }));
      expect(await left(shared)).toBe(6);
      await counters.settle(settling("a"));
      expect(await left(shared)).toBe(windowMs === null ? 9 : 6);
    });

    const key = fc.constantFrom("a", "b", "c", "d", "e", "f");
    const amount = fc.integer({ min: 0, max: 60 });
    const takes = fc.uniqueArray(
      fc.record({
        limitId: fc.constantFrom("one", "two", "three"),
        bucket: fc.constantFrom("", "x"),
        measure: fc.constantFrom("requests" as const, "tokens" as const, "cost" as const),
        windowMs: fc.constantFrom(null, 1_000, MINUTE),
        limit: fc.constantFrom(0, 2, 100, PLENTY),
        amount,
      }),
      { selector: (one) => `${one.limitId} ${one.bucket} ${one.windowMs}`, maxLength: 4 },
    );
    const scope = fc.option(takes, { nil: null });
    const use = fc.option(amount, { nil: null });
    const attempt = fc.nat(2);
    const organisationId = fc.constantFrom("org-a", "org-b");
    const action = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant("reserve" as const),
          organisationId,
          reservationId: key,
          attempt,
          leaseMs: fc.integer({ min: 1, max: 90_000 }),
          request: scope,
          target: scope,
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant("settle" as const),
          organisationId,
          reservationId: key,
          attempt,
          tokens: use,
          costMicro: use,
          refundRequest: fc.boolean(),
          refundTarget: fc.boolean(),
          last: fc.boolean(),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constant("renew" as const),
          organisationId,
          reservationIds: fc.uniqueArray(key),
          leaseMs: fc.integer({ min: 1, max: 90_000 }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("look" as const), organisationId, request: scope, target: scope }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.integer({ min: 1, max: 30_000 }) }) },
    );

    test("any history gives what the memory gives", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(action, { maxLength: 60 }), async (actions) => {
          const { clock, counters } = setUp();
          const model = createMemoryCounters({ clock });
          for (const one of actions) {
            if (one.kind === "advance") clock.advance(one.ms);
            else if (one.kind === "reserve") expect(await counters.reserve(one)).toEqual(await model.reserve(one));
            else if (one.kind === "look") expect(await counters.peek(one)).toEqual(await model.peek(one));
            else if (one.kind === "renew") expect(await counters.renew(one)).toEqual(await model.renew(one));
            else await Promise.all([counters.settle(one), model.settle(one)]);
          }
        }),
        { numRuns: 4 * engine.runs },
      );
    });
  });
});
