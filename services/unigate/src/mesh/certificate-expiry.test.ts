import { expect, test } from "vitest";
import { expiryOf } from "./certificate-expiry.ts";

const day = (number: number): Date => new Date(Date.UTC(2030, 0, number));

test.each([
  ["a year, 15 days before its end", 366, 351, "good"],
  ["a year, 14 days before its end", 366, 352, "soon"],
  ["a year, at its end", 366, 366, "expired"],
  ["a year, later", 366, 400, "expired"],
  ["eight days, 3 before its end", 9, 6, "good"],
  ["eight days, 2 before its end", 9, 7, "soon"],
] as const)("%s", (_, end, now, expiry) => {
  expect(expiryOf({ validFrom: day(1), validTo: day(end) }, day(now).getTime())).toBe(expiry);
});
