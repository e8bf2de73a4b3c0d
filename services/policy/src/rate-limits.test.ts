import type { RateLimit } from "@unigate/core";
import { expect, test } from "vitest";
import { appliedLimits } from "./rate-limits.ts";

test.each([
  ["rps", 1_000],
  ["rpm", 60_000],
  ["rph", 3_600_000],
  ["rpd", 86_400_000],
  ["rpw", 604_800_000],
] as const)("%s counts over %i ms", (unit, windowMs) => {
  expect(appliedLimits("api_key", "key-1", [{ type: "requests", unit, value: 5 }], 900)).toEqual([
    { unit, take: { limitId: `api_key/key-1/requests/${unit}`, bucket: "", measure: "requests", windowMs, limit: 5, amount: 1 } },
  ]);
});

test("a tokens limit takes the estimate, at least one token", () => {
  const limits: RateLimit[] = [{ type: "tokens", unit: "rpm", value: 5_000 }];
  const amounts = [900, 0].map((tokens) => appliedLimits("provider", "openai", limits, tokens)[0]?.take.amount);
  expect(amounts).toEqual([900, 1]);
});

test("of two limits of one type and unit the lower one counts", () => {
  const limits: RateLimit[] = [
    { type: "requests", unit: "rpm", value: 20 },
    { type: "requests", unit: "rpm", value: 10 },
    { type: "requests", unit: "rpm", value: 30 },
    { type: "tokens", unit: "rpm", value: 7 },
  ];
  expect(appliedLimits("api_key", "key-1", limits, 1).map((limit) => [limit.take.measure, limit.take.limit])).toEqual([
    ["requests", 10],
    ["tokens", 7],
  ]);
});
