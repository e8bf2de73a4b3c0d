import { expect, test } from "vitest";
import { createEarlyBodies } from "./early-bodies.ts";

const bodies = (id: string, length = 700) => ({ id, time: 1, organisationId: "org", tail: "x".repeat(length) });

test("gives bodies once, and knows those that came again", () => {
  const early = createEarlyBodies(10_000);
  expect([early.add(bodies("a")), early.add(bodies("a")), early.add(bodies("b"))]).toEqual([true, false, true]);
  expect(early.take("a")).toEqual(bodies("a"));
  expect(early.take("a")).toBeUndefined();
  expect(early.add(bodies("a"))).toBe(true);
});

test("the oldest go when there is no room, also the new ones that are too large", () => {
  const early = createEarlyBodies(3_000);
  for (const id of ["a", "b", "c", "d"]) early.add(bodies(id));
  expect(["a", "b", "c", "d"].filter((id) => early.take(id) !== undefined)).toEqual(["b", "c", "d"]);
  early.add(bodies("e", 5_000));
  expect(early.take("e")).toBeUndefined();
  for (const id of ["f", "g", "h"]) early.add(bodies(id));
  expect(["f", "g", "h"].filter((id) => early.take(id) !== undefined)).toEqual(["f", "g", "h"]);
});
