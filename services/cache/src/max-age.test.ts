import { expect, test } from "vitest";
import { maxAgeSeconds } from "./max-age.ts";

test.each([
  [0, 604_800],
  [59, 604_800],
  [60, 60],
  [3_600, 3_600],
  [7_776_000, 7_776_000],
  [7_776_001, 604_800],
])("max_age %i becomes %i", (asked, seconds) => {
  expect(maxAgeSeconds(asked)).toBe(seconds);
});
