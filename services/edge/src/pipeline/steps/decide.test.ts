import type { RetryRule } from "@unigate/core";
import { GatewayError } from "@unigate/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AttemptResult, failedAttempt } from "../attempt-result.ts";
import { decideRetry, type RetryFacts } from "./decide.ts";

const RULE: RetryRule = { attempts: 5, onStatusCodes: [429, 500, 503, 246, 446], useRetryAfter: true };

function answered(status: number, over: Partial<AttemptResult> = {}): AttemptResult {
  const base = failedAttempt(new GatewayError("internal"));
  return { ...base, status, failure: null, ...over };
}

function decided(result: AttemptResult, facts: Partial<RetryFacts> = {}, rule: RetryRule | null = RULE, draw = 1): string {
  const decision = decideRetry(rule, result, { status: result.status, made: 0, waitedMs: 0, ...facts }, { draw: () => draw });
  return decision.kind === "retry" ? `wait ${decision.waitMs}` : decision.kind;
}

const STREAM = { parts: { next: () => Promise.resolve({ done: true as const, value: undefined }) } };
const unreachable = failedAttempt(new GatewayError("upstream_unreachable"));

test.each<[string, string, string]>([
  ["no rule", decided(answered(500), {}, null), "done"],
  ["a status that is not listed", decided(answered(400)), "done"],
  ["a success", decided(answered(200)), "done"],
  ["a listed status", decided(answered(500)), "wait 1000"],
  ["a listed status of a check", decided(answered(446)), "wait 1000"],
  ["a soft failure of a check", decided(answered(200), { status: 246 }), "wait 1000"],
  ["no more attempts", decided(answered(500), { made: 5 }), "give_up"],
  ["a success after the last attempt", decided(answered(200), { made: 5 }), "done"],
  ["an empty list", decided(answered(500), {}, { ...RULE, onStatusCodes: [] }), "done"],
  ["the network, whatever the list", decided(unreachable, {}, { ...RULE, onStatusCodes: [] }), "wait 1000"],
  [
    "a connection that was not made in time",
    decided(failedAttempt(new GatewayError("upstream_connect_timeout")), {}, { ...RULE, onStatusCodes: [] }),
    "wait 1000",
  ],
  ["the network, once too often", decided(unreachable, { made: 5 }), "give_up"],
  ["what no other try would change", decided({ ...answered(500), final: true }), "done"],
  ["a stream that has begun", decided({ ...answered(200), stream: STREAM }, { status: 246 }), "done"],
  ["a stream of no success", decided({ ...answered(500), stream: STREAM }), "wait 1000"],
])("%s", (_, decision, expected) => {
  expect(decision).toBe(expected);
});

describe("the wait that the provider names", () => {
  test.each<[string, number, Partial<AttemptResult>, Partial<RetryFacts>, boolean, string]>([
    ["is followed after a 429", 429, { retryAfterMs: 2_500 }, {}, true, "wait 2500"],
    ["may be nothing", 429, { retryAfterMs: 0 }, { made: 3 }, true, "wait 0"],
    ["is followed later too, without back-off", 429, { retryAfterMs: 700 }, { made: 4, waitedMs: 20_000 }, true, "wait 700"],
    ["means nothing unless it was asked for", 429, { retryAfterMs: 2_500 }, {}, false, "wait 1000"],
    ["means nothing after another status", 503, { retryAfterMs: 2_500 }, {}, true, "wait 1000"],
    ["may be absent", 429, { retryAfterMs: null }, {}, true, "wait 1000"],
    ["just below a minute", 429, { retryAfterMs: 59_999 }, {}, true, "wait 59999"],
    ["of a minute ends it", 429, { retryAfterMs: 60_000 }, {}, true, "give_up"],
    ["of a minute means nothing unless it was asked for", 429, { retryAfterMs: 60_000 }, {}, false, "wait 1000"],
    ["up to what is left of a minute", 429, { retryAfterMs: 20_000 }, { made: 1, waitedMs: 40_000 }, true, "wait 20000"],
    ["beyond what is left of a minute ends it", 429, { retryAfterMs: 20_001 }, { made: 1, waitedMs: 40_000 }, true, "give_up"],
  ])("%s", (_, status, result, facts, useRetryAfter, expected) => {
    expect(decided(answered(status, result), facts, { ...RULE, useRetryAfter })).toBe(expected);
  });
});

describe("back-off", () => {
  test.each([
    [0, 500, 1_000],
    [1, 1_000, 2_000],
    [2, 2_000, 4_000],
    [3, 4_000, 8_000],
    [4, 8_000, 16_000],
  ])("retry %i waits %i to %i ms", (made, least, most) => {
    expect([0, 1].map((draw) => decided(answered(500), { made }, RULE, draw))).toEqual([`wait ${least}`, `wait ${most}`]);
  });

  test("is half at least, doubles at most, and is drawn evenly", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20 }), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (made, draw) => {
        const longest = Math.min(1_000 * 2 ** made, 16_000);
        const rule = { ...RULE, attempts: 100 };
        expect(decided(answered(500), { made }, rule, draw)).toBe(`wait ${Math.round(longest / 2 + (longest / 2) * draw)}`);
      }),
    );
  });
});
