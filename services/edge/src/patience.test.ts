import { expect, test } from "vitest";
import { createPatience } from "./patience.ts";

test("a service that is silent five times in a row is tried once a second, until it answers", () => {
  let now = 0;
  const patience = createPatience({ now: () => now });
  for (let call = 0; call < 4; call += 1) patience.silent();
  patience.answered();
  for (let call = 0; call < 5; call += 1) {
    expect(patience.mayAsk()).toBe(true);
    patience.silent();
  }
  expect(patience.mayAsk()).toBe(false);
  now = 999;
  expect(patience.mayAsk()).toBe(false);
  now = 1_000;
  expect([patience.mayAsk(), patience.mayAsk()]).toEqual([true, false]);
  patience.silent();
  now = 1_999;
  expect(patience.mayAsk()).toBe(false);
  now = 2_000;
  expect(patience.mayAsk()).toBe(true);
  patience.answered();
  expect([patience.mayAsk(), patience.mayAsk()]).toEqual([true, true]);
});
