import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type BreakerOutcome, breakerOutcome, breakerRule } from "./rule.ts";
import { addOutcome, type BreakerState, breakerPhase, CLOSED_BREAKER, countOutcomes, endProbe, NO_COUNTS } from "./state.ts";

const COOLDOWN = 30_000;
const NOW = 1_000_000;
const rule = (over: object = {}) => breakerRule({ failure_threshold: 3, cooldown_interval: COOLDOWN, ...over });
const after = (outcomes: readonly BreakerOutcome[], over: object = {}, state: BreakerState = CLOSED_BREAKER, now = NOW): BreakerState =>
  outcomes.reduce((known, outcome) => countOutcomes(known, addOutcome(NO_COUNTS, outcome), rule(over), now), state);

describe("what is a failure", () => {
  test.each([
    [200, null, "success"],
    [246, null, "success"],
    [299, null, "success"],
    [400, null, "neither"],
    [408, null, "neither"],
    [429, null, "neither"],
    [499, null, "neither"],
    [500, null, "failure"],
    [504, null, "failure"],
    [529, null, "failure"],
    [0, null, "neither"],
    [500, [429], "neither"],
    [429, [429], "failure"],
    [246, [246], "failure"],
    [500, [], "neither"],
  ] as const)("%i with %j: %s", (status, failureStatuses, outcome) => {
    expect(breakerOutcome(status, rule({ failure_status_codes: failureStatuses ?? undefined }))).toBe(outcome);
  });
});

test("what is not said, and what is too little or too much", () => {
  expect(breakerRule({ failure_threshold: 1, cooldown_interval: 1 })).toEqual({
    failureThreshold: 1,
    failurePercentage: null,
    minimumRequests: 5,
    cooldownMs: COOLDOWN,
    failureStatuses: null,
  });
  expect(breakerRule({ failure_threshold_percentage: 10, cooldown_interval: 1e300 }).cooldownMs).toBe(86_400_000);
});

test("it opens at the number, not before, and closes by no time", () => {
  const two = after(["failure", "success", "failure"]);
  expect(breakerPhase(two, NOW)).toBe("closed");
  const open = after(["failure"], {}, two);
  expect(breakerPhase(open, NOW)).toBe("open");
  expect(breakerPhase(open, NOW + COOLDOWN - 1)).toBe("open");
  expect(breakerPhase(open, NOW + COOLDOWN)).toBe("half_open");
  expect(breakerPhase(open, NOW + 1000 * COOLDOWN)).toBe("half_open");
});

test("a number that is no whole one", () => {
  expect(after(["failure", "failure"], { failure_threshold: 2.5 }).openUntil).toBe(0);
  expect(after(["failure", "failure", "failure"], { failure_threshold: 2.5 }).openUntil).not.toBe(0);
});

test("either of the two opens it", () => {
  const both = { failure_threshold: 10, failure_threshold_percentage: 100, minimum_requests: 2 };
  expect(after(["failure", "failure"], both).openUntil).not.toBe(0);
  expect(after(["failure", "success"], both).openUntil).toBe(0);
});

const outcome = fc.constantFrom<BreakerOutcome>("success", "failure", "neither");

test("property: a batch opens by number exactly when its outcomes one by one do", () => {
  fc.assert(
    fc.property(fc.array(outcome, { maxLength: 30 }), fc.integer({ min: 1, max: 8 }), (outcomes, failure_threshold) => {
      const counts = outcomes.reduce(addOutcome, NO_COUNTS);
      const atOnce = countOutcomes(CLOSED_BREAKER, counts, rule({ failure_threshold }), NOW);
      const failures = outcomes.filter((one) => one === "failure").length;
      expect(atOnce.openUntil !== 0).toBe(failures >= failure_threshold);
      expect(after(outcomes, { failure_threshold }).openUntil !== 0).toBe(failures >= failure_threshold);
    }),
  );
});

test("property: nothing but the success of a probe closes what is open", () => {
  const opened = after(["failure", "failure", "failure"]);
  const step = fc.record({ outcome, isProbe: fc.boolean(), wait: fc.integer({ min: 0, max: 2 * COOLDOWN }) });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let state = opened;
      let now = NOW;
      for (const one of steps) {
        now += one.wait;
        const next = one.isProbe
          ? endProbe(state, one.outcome, rule(), now)
          : countOutcomes(state, addOutcome(NO_COUNTS, one.outcome), rule(), now);
        if (next.openUntil === 0) {
          expect(one).toMatchObject({ isProbe: true, outcome: "success" });
          expect(next).toEqual(CLOSED_BREAKER);
          return;
        }
        state = next;
      }
    }),
  );
});
