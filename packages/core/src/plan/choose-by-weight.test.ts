import * as fc from "fast-check";
import { expect, test } from "vitest";
import { chooseByWeight } from "./choose-by-weight.ts";

test.each([
  [[3, 1], 0, 0],
  [[3, 1], 0.74, 0],
  [[3, 1], 0.75, 1],
  [[3, 1], 0.999, 1],
  [[0, 1], 0, 1],
  [[1, 0], 0.999, 0],
  [[0, 0, 2, 0], 0.5, 2],
  [[0.1, 0.2], 0.3, 0],
  [[0.1, 0.2], 0.34, 1],
  [[0, 0], 0.5, -1],
  [[], 0.5, -1],
  [[-1, 1], 0, 1],
])("weights %j and draw %d choose %i", (weights, draw, chosen) => {
  expect(chooseByWeight(weights, draw)).toBe(chosen);
});

const draw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const weight = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 100 }), fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true }));

test("weight 0 is never chosen, and something else always is", () => {
  fc.assert(
    fc.property(fc.array(weight, { minLength: 1, maxLength: 10 }), draw, (weights, drawn) => {
      const chosen = chooseByWeight(weights, drawn);
      if (weights.every((value) => value === 0)) expect(chosen).toBe(-1);
      else expect(weights[chosen]).toBeGreaterThan(0);
    }),
    { numRuns: 1_000 },
  );
});

test("frequency follows the weights", () => {
  const draws = 2_000;
  const some = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 0.01, max: 1_000, noNaN: true })), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(
      some.filter((weights) => weights.some((value) => value > 0)),
      fc.constantFrom(1, 1e-300, 1e305),
      (shares, scale) => {
        const weights = shares.map((value) => value * scale);
        const counts = weights.map(() => 0);
        for (let index = 0; index < draws; index++) {
          const chosen = chooseByWeight(weights, (index + 0.5) / draws);
          counts[chosen] = (counts[chosen] ?? 0) + 1;
        }
        const total = shares.reduce((sum, value) => sum + value, 0);
        // Evenly spread draws: each target gets its share to within one draw at either end of its range.
        for (const [index, share] of shares.entries()) {
          expect(Math.abs((counts[index] ?? 0) - (draws * share) / total)).toBeLessThanOrEqual(2);
        }
      },
    ),
    { numRuns: 200 },
  );
});
