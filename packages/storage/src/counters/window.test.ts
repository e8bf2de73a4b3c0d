import { expect, test } from "vitest";
import { windowStart } from "./window.ts";

const DAY = 86_400_000;

test.each([
  ["a second", 1_000, "2026-03-04T05:06:07.890Z", "2026-03-04T05:06:07.000Z"],
  ["a minute", 60_000, "2026-03-04T05:06:07.890Z", "2026-03-04T05:06:00.000Z"],
  ["an hour", 3_600_000, "2026-03-04T05:06:07.890Z", "2026-03-04T05:00:00.000Z"],
  ["a day", DAY, "2026-03-04T05:06:07.890Z", "2026-03-04T00:00:00.000Z"],
  ["a week, from Wednesday", 7 * DAY, "2026-03-04T05:06:07.890Z", "2026-03-02T00:00:00.000Z"],
  ["a week, from its last moment", 7 * DAY, "2026-03-08T23:59:59.999Z", "2026-03-02T00:00:00.000Z"],
  ["a week, from its first moment", 7 * DAY, "2026-03-09T00:00:00.000Z", "2026-03-09T00:00:00.000Z"],
  ["a week before the first Monday", 7 * DAY, "1970-01-02T03:00:00.000Z", "1969-12-29T00:00:00.000Z"],
])("the window of %s is aligned to UTC", (_name, windowMs, now, start) => {
  expect(new Date(windowStart(Date.parse(now), windowMs)).toISOString()).toBe(start);
});
