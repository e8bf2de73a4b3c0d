import type { RateLimit, RateLimitPolicy } from "@unigate/core";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ownLimits, policyLimit } from "./applied-limit.ts";

const ESTIMATE = { tokens: 900, bounded: true };

function policy(over: Partial<RateLimitPolicy>): RateLimitPolicy {
  return {
    id: "p",
    name: null,
    organisation_id: "org",
    workspace_id: null,
    conditions: [],
    group_by: [],
    type: "requests",
    unit: "rpm",
    value: 5,
    status: "active",
    on_store_loss: "open",
    ...over,
  };
}

test.each([
  ["rps", 1_000],
  ["rpm", 60_000],
  ["rph", 3_600_000],
  ["rpd", 86_400_000],
  ["rpw", 604_800_000],
] as const)("%s counts over %i ms", (unit, windowMs) => {
  const take = { limitId: `api_key/key-1/requests/${unit}`, bucket: "", measure: "requests", windowMs, limit: 5, amount: 1 };
  expect(ownLimits("api_key", "key-1", [{ type: "requests", unit, value: 5 }], ESTIMATE)).toEqual([
    { owner: "api_key", ownerName: "key-1", type: "requests", unit, closed: false, take },
  ]);
});

test("concurrency holds one request without a window", () => {
  const [own] = ownLimits("provider", "main", [{ type: "concurrency", unit: null, value: 3 }], ESTIMATE);
  expect(own?.take).toEqual({ limitId: "provider/main/concurrency", bucket: "", measure: "requests", windowMs: null, limit: 3, amount: 1 });
  const { take } = policyLimit({ policy: policy({ type: "concurrency", unit: null }), bucket: "b" }, ESTIMATE);
  expect(take).toMatchObject({ limitId: "policy/p/concurrency", bucket: "b", windowMs: null });
});

test("a policy is known by its name, else by its id, and says what happens when nothing is counted", () => {
  const named = policyLimit({ policy: policy({ name: "Teams", on_store_loss: "closed" }), bucket: "b" }, ESTIMATE);
  expect(named).toMatchObject({
    owner: "policy",
    ownerName: "Teams",
    closed: true,
    take: { limitId: "policy/p/requests/rpm", bucket: "b" },
  });
  expect(policyLimit({ policy: policy({}), bucket: "b" }, ESTIMATE)).toMatchObject({ ownerName: "p", closed: false });
});

test("a tokens limit takes the estimate, at least one token; a guess is never more than the limit", () => {
  const tokens: RateLimit[] = [{ type: "tokens", unit: "rpm", value: 5_000 }];
  const amount = (estimate: { tokens: number; bounded: boolean }) => ownLimits("provider", "openai", tokens, estimate)[0]?.take.amount;
  expect(amount({ tokens: 900, bounded: true })).toBe(900);
  expect(amount({ tokens: 0, bounded: true })).toBe(1);
  expect(amount({ tokens: 6_000, bounded: true })).toBe(6_000);
  fc.assert(
    fc.property(fc.nat(20_000), (guess) => {
      expect(amount({ tokens: guess, bounded: false })).toBe(Math.max(1, Math.min(guess, 5_000)));
    }),
  );
});

test("of two limits of one type and unit the lower one counts", () => {
  const limits: RateLimit[] = [
    { type: "requests", unit: "rpm", value: 20 },
    { type: "requests", unit: "rpm", value: 10 },
    { type: "requests", unit: "rpm", value: 30 },
    { type: "concurrency", unit: null, value: 4 },
    { type: "concurrency", unit: null, value: 3 },
    { type: "tokens", unit: "rpm", value: 7 },
  ];
  expect(ownLimits("api_key", "key-1", limits, ESTIMATE).map(({ type, take }) => [type, take.limit])).toEqual([
    ["requests", 10],
    ["concurrency", 3],
    ["tokens", 7],
  ]);
});
