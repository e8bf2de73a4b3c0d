import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createHedgeBudgets } from "./hedge-budgets.ts";

test("the first slow request may hedge, and no more than the percentage after it", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.array(fc.boolean(), { maxLength: 500 }), (percent, slow) => {
      const budgets = createHedgeBudgets();
      let taken = 0;
      for (const [index, isSlow] of slow.entries()) {
        budgets.earn("b", percent);
        if (isSlow && budgets.take("b", percent)) taken += 1;
        expect(taken).toBeLessThanOrEqual(1 + ((index + 1) * percent) / 100 + 1e-9);
      }
      if (slow.includes(true)) expect(taken).toBeGreaterThan(0);
    }),
  );
});

test("what is saved up is bounded", () => {
  const budgets = createHedgeBudgets();
  for (let index = 0; index < 1_000; index++) budgets.earn("b", 100);
  let taken = 0;
  while (budgets.take("b", 100)) taken += 1;
  expect(taken).toBe(10);
});

test("budgets are apart, and 0 percent allows nothing", () => {
  const budgets = createHedgeBudgets();
  budgets.earn("none", 0);
  expect(budgets.take("none", 0)).toBe(false);
  expect([budgets.take("a", 10), budgets.take("a", 10), budgets.take("b", 10)]).toEqual([true, false, true]);
});
