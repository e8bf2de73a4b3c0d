import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createContentTimes } from "./content-times.ts";

test("nothing is said of fewer than 20 times", () => {
  const times = createContentTimes();
  for (let index = 0; index < 19; index++) times.add("t", 5);
  expect([times.percentile("t", 95), times.percentile("other", 95)]).toEqual([null, null]);
  times.add("t", 5);
  expect(times.percentile("t", 95)).toBe(5);
});

test("so much of the last 200 is not above it, and it is one of them", () => {
  const ms = fc.integer({ min: 0, max: 10_000 });
  fc.assert(
    fc.property(fc.array(ms, { minLength: 20, maxLength: 450 }), fc.double({ min: 1, max: 99, noNaN: true }), (all, percent) => {
      const times = createContentTimes();
      for (const one of all) times.add("t", one);
      const last = all.slice(-200);
      const found = times.percentile("t", percent) ?? -1;
      expect(last).toContain(found);
      const share = (limit: number): number => (100 * last.filter((one) => one <= limit).length) / last.length;
      expect(share(found)).toBeGreaterThanOrEqual(percent - 1e-9);
      expect(share(found - 1)).toBeLessThan(percent);
    }),
  );
});
