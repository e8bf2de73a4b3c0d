import type { BreakerOutcome } from "@unigate/core";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { manualClock } from "../counters/counters.fixture.ts";
import { storeEngines } from "../store-engines.fixture.ts";
import { COOLDOWN, delta, exchanging, rule } from "./breakers.fixture.ts";
import { createMemoryBreakers } from "./memory.ts";
import { type BreakerDelta, type BreakerExchange, type Breakers, GRANT_MS, KEEP_MS, MOST_TARGETS, PROBE_MS } from "./port.ts";
import { createRedisBreakers } from "./redis.ts";

const engines = storeEngines<Breakers>({
  inMemory: (clock) => createMemoryBreakers({ clock }),
  inRedis(link, clock, rename) {
    const breakers = createRedisBreakers(link, { clock });
    return { exchange: (call) => breakers.exchange(rename(call)) };
  },
});

const OPEN = { target: "t", failures: 3, successes: 0, countedForMs: 0, openForMs: COOLDOWN };
const CLOSED = { target: "t", failures: 0, successes: 0, countedForMs: 0, openForMs: null };

describe.each(engines)("breakers in $name", (engine) => {
  describe.skipIf(!engine.available)("the port", () => {
    beforeAll(() => engine.open());
    afterAll(() => engine.close());

    function setUp() {
      const clock = manualClock();
      const breakers = engine.create(clock);
      const exchange = (over: Partial<BreakerExchange> = {}) => breakers.exchange(exchanging(over));
      const tell = (...deltas: BreakerDelta[]) => exchange({ deltas });
      const want = async (token: string, target = "t") => (await exchange({ wanted: [{ target, token }] })).granted;
      const end = (token: string, outcome: BreakerOutcome) => tell(delta({}, { probe: { token, outcome } }));
      /** Opens the target and lets the cooldown pass. */
      async function halfOpen(): Promise<void> {
        await tell(delta({ failures: 3 }));
        clock.advance(COOLDOWN);
      }
      return { clock, exchange, tell, want, end, halfOpen };
    }

    test("opens with the failure that reaches the number, whoever reports it", async () => {
      const { tell, clock } = setUp();
      expect((await tell(delta({ failures: 1 }))).changed).toEqual([{ ...OPEN, failures: 1, openForMs: null }]);
      clock.advance(1_000);
      expect((await tell(delta({ failures: 1 }))).changed).toEqual([{ ...OPEN, failures: 2, countedForMs: 1_000, openForMs: null }]);
      expect((await tell(delta({ failures: 1 }))).changed).toEqual([{ ...OPEN, countedForMs: 1_000 }]);
    });

    test("successes leave nothing until something failed", async () => {
      const { tell } = setUp();
      expect((await tell(delta({ successesBefore: 1_000 }))).changed).toEqual([]);
    });

    test.each([
      [4, 0, false],
      [4, 1, true],
      [3, 3, true],
      [3, 4, false],
      [5, 0, true],
    ])("by percentage, of 5 at least: %i failures and %i successes open: %s", async (failures, successes, opens) => {
      const { tell } = setUp();
      const half = rule({ failure_threshold: undefined, failure_threshold_percentage: 50 });
      const [changed] = (await tell(delta({ successesBefore: 7, failures, successesAfter: successes }, { rule: half }))).changed;
      expect(changed).toMatchObject({ failures, successes, openForMs: opens ? COOLDOWN : null });
    });

    test("failures are counted together for one cooldown from the first", async () => {
      const { tell, clock } = setUp();
      await tell(delta({ failures: 2 }));
      clock.advance(COOLDOWN - 1);
      expect((await tell(delta({ successesBefore: 1 }))).changed[0]).toMatchObject({ failures: 2, successes: 1 });
      clock.advance(1);
      expect((await tell(delta({ failures: 2 }))).changed).toEqual([{ ...OPEN, failures: 2, openForMs: null }]);
    });

    test("failures count to the last ms of the cooldown, however long a look at them takes", async () => {
      const { tell, clock, exchange } = setUp();
      await tell(delta({ failures: 2 }));
      clock.advance(COOLDOWN - 1);
      await tell(delta({ successesBefore: 1 }));
      for (let look = 0; look < 50; look++) expect((await exchange()).changed[0]).toMatchObject({ failures: 2, successes: 1 });
    });

    test("what ends while it is open says nothing", async () => {
      const { tell, clock, exchange } = setUp();
      const { version } = await tell(delta({ failures: 3 }));
      clock.advance(1_000);
      await tell(delta({ successesBefore: 10 }), delta({ failures: 10 }));
      expect(await exchange({ since: version })).toEqual({ version, changed: [], granted: [] });
      expect((await exchange()).changed).toEqual([{ ...OPEN, countedForMs: 1_000, openForMs: COOLDOWN - 1_000 }]);
    });

    test("no probe before the cooldown ends, then one at a time", async () => {
      const { tell, want, clock } = setUp();
      expect(await want("a")).toEqual([]);
      await tell(delta({ failures: 3 }));
      clock.advance(COOLDOWN - 1);
      expect(await want("a")).toEqual([]);
      clock.advance(1);
      expect([await want("a"), await want("b"), await want("a")]).toEqual([["a"], [], []]);
    });

    test("a probe that is not begun is free after a while; one under way is kept", async () => {
      const { want, halfOpen, clock, exchange, end } = setUp();
      await halfOpen();
      expect(await want("a")).toEqual(["a"]);
      clock.advance(GRANT_MS);
      expect(await want("b")).toEqual(["b"]);
      await exchange({ begun: [{ target: "t", token: "b" }] });
      clock.advance(PROBE_MS - 1);
      expect(await want("c")).toEqual([]);
      clock.advance(1);
      expect(await want("c")).toEqual(["c"]);
      // The one before is too late to decide anything.
      expect((await end("b", "success")).changed[0]).toMatchObject({ openForMs: 0 });
    });

    test("its success closes and clears", async () => {
      const { want, halfOpen, end, tell } = setUp();
      await halfOpen();
      await want("a");
      expect((await end("a", "success")).changed).toEqual([CLOSED]);
      expect((await tell(delta({ failures: 1 }))).changed[0]).toMatchObject({ failures: 1, openForMs: null });
    });

    test("its failure opens it for another cooldown", async () => {
      const { want, halfOpen, end, clock } = setUp();
      await halfOpen();
      await want("a");
      expect((await end("a", "failure")).changed[0]).toMatchObject({ failures: 4, openForMs: COOLDOWN });
      expect(await want("b")).toEqual([]);
      clock.advance(COOLDOWN);
      expect(await want("b")).toEqual(["b"]);
    });

    test("an outcome that says nothing frees the probe", async () => {
      const { want, halfOpen, end } = setUp();
      await halfOpen();
      await want("a");
      expect((await end("a", "neither")).changed[0]).toMatchObject({ openForMs: 0 });
      expect(await want("b")).toEqual(["b"]);
    });

    test("only changes since the version, oldest first, and never another organisation's", async () => {
      const { tell, exchange } = setUp();
      await tell(delta({ failures: 1 }, { target: "one" }), delta({ failures: 1 }, { target: "two" }));
      const { version } = await tell(delta({ failures: 1 }, { target: "one" }));
      await tell(delta({ failures: 1 }, { target: "three" }));
      expect((await exchange()).changed.map(({ target }) => target)).toEqual(["two", "one", "three"]);
      const later = await exchange({ since: version });
      expect(later.changed.map(({ target }) => target)).toEqual(["three"]);
      expect(await exchange({ since: later.version })).toEqual({ version: later.version, changed: [], granted: [] });
      expect((await exchange({ organisationId: "org-b" })).changed).toEqual([]);
    });

    test("a breaker that nobody probes is forgotten a day after its cooldown", async () => {
      const { halfOpen, want, clock, exchange } = setUp();
      await halfOpen();
      clock.advance(KEEP_MS);
      expect(await want("a")).toEqual([]);
      expect((await exchange()).changed).toEqual([CLOSED]);
    });

    test("hostile keys are only keys", async () => {
      const { tell } = setUp();
      for (const target of ["", "__proto__", "{x}:y", "*", "\u0000\n", "é🌊"])
        expect((await tell(delta({ failures: 3 }, { target }))).changed.at(-1)).toEqual({ ...OPEN, target });
    });

    test("targets are bounded: the one whose last change is the oldest goes first", async () => {
      const { tell, exchange } = setUp();
      const opened = (from: number, to: number) =>
        Array.from({ length: to - from }, (_, index) => delta({ failures: 3 }, { target: `t${from + index}` }));
      for (let from = 0; from <= MOST_TARGETS; from += 500) await tell(...opened(from, Math.min(from + 500, MOST_TARGETS + 1)));
      let since = 0;
      const found: string[] = [];
      for (;;) {
        const { changed, version } = await exchange({ since });
        if (changed.length === 0) break;
        found.push(...changed.map(({ target }) => target));
        since = version;
      }
      expect([found.length, found[0], found.at(-1)]).toEqual([MOST_TARGETS, "t1", `t${MOST_TARGETS}`]);
      expect((await tell(delta({ failures: 1 }, { target: "t0" }))).changed.at(0)).toMatchObject({ target: "t2" });
    });

    /** What a caller may do, and how long it takes. */
    const step = fc.record({
      wait: fc.constantFrom(0, 1, GRANT_MS - 1, GRANT_MS, PROBE_MS - 1, COOLDOWN - 1, COOLDOWN),
      caller: fc.constantFrom("a", "b", "c"),
      does: fc.constantFrom("want", "begin", "success", "failure", "neither", "plain failures", "plain successes"),
      count: fc.integer({ min: 1, max: 3 }),
    });

    test("property: it does what a naive model does, and two probes are never at once", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const { clock, exchange, tell, want, end } = setUp();
          let failures: number[] = [];
          let successes = 0;
          let openUntil = 0;
          let extra = 0;
          let probe = null as { token: string; until: number } | null;
          const last = new Map<string, string>();
          for (const [index, { wait, caller, does, count }] of steps.entries()) {
            clock.advance(wait);
            const now = clock.now();
            if (openUntil === 0 && now - (failures[0] ?? now) >= COOLDOWN) [failures, successes] = [[], 0];
            const held: boolean = probe !== null && now < probe.until && probe.token === last.get(caller);
            if (does === "want") {
              const token = `${caller}${index}`;
              const free: boolean = openUntil !== 0 && now >= openUntil && (probe === null || now >= probe.until);
              expect(await want(token)).toEqual(free ? [token] : []);
              if (!free) continue;
              probe = { token, until: now + GRANT_MS };
              last.set(caller, token);
            } else if (does === "begin") {
              await exchange({ begun: [{ target: "t", token: last.get(caller) ?? "" }] });
              if (held && probe !== null) probe = { ...probe, until: now + PROBE_MS };
            } else if (does === "plain failures" || does === "plain successes") {
              const isFailure = does === "plain failures";
              await tell(delta(isFailure ? { failures: count } : { successesBefore: count }));
              if (openUntil !== 0) continue;
              if (isFailure) for (let one = 0; one < count; one += 1) failures.push(now);
              else if (failures.length > 0) successes += count;
              if (failures.length >= 3) openUntil = now + COOLDOWN;
            } else {
              await end(last.get(caller) ?? "", does);
              if (!held) continue;
              probe = null;
              if (openUntil === 0) continue;
              if (does === "success") [failures, successes, openUntil, extra] = [[], 0, 0, 0];
              if (does === "failure") [openUntil, extra] = [now + COOLDOWN, extra + 1];
            }
            const [state] = (await exchange()).changed;
            expect([state?.failures ?? 0, state?.successes ?? 0, state?.openForMs ?? null]).toEqual([
              failures.length + extra,
              successes,
              openUntil === 0 ? null : Math.max(0, openUntil - now),
            ]);
          }
        }),
        { numRuns: engine.runs },
      );
    });
  });
});
