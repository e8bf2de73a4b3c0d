import * as fc from "fast-check";
import { expect, test } from "vitest";
import { nearestName } from "./nearest-name.ts";

const FIELDS = ["provider", "api_key", "retry", "targets", "custom_host"];

test.each([
  ["provder", "provider"],
  ["providers", "provider"],
  ["porvider", "provider"],
  ["apikey", "api_key"],
  ["retrys", "retry"],
  ["target", "targets"],
  ["customhost", "custom_host"],
  ["provider", "provider"],
  ["", null],
  ["xyz", null],
  ["weight", null],
])("%s -> %s", (name, nearest) => {
  expect(nearestName(name, FIELDS)).toBe(nearest);
});

test("the first of two that are equally near", () => {
  expect(nearestName("cat", ["bat", "hat"])).toBe("bat");
});

test("nothing is near when nothing is known", () => {
  expect(nearestName("provider", [])).toBeNull();
});

const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 });

/** Edit distance by its definition. */
function distance(left: string, right: string): number {
  if (left === "" || right === "") return left.length + right.length;
  const substitution = distance(left.slice(1), right.slice(1)) + (left[0] === right[0] ? 0 : 1);
  return Math.min(substitution, distance(left.slice(1), right) + 1, distance(left, right.slice(1)) + 1);
}

test("the answer is a nearest one, and near enough", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 6 }),
      fc.array(
        word.map((text) => text.slice(0, 6)),
        { maxLength: 4 },
      ),
      (name, known) => {
        const limit = Math.max(1, Math.floor(name.length / 3));
        const distances = known.map((candidate) => distance(name, candidate));
        const least = Math.min(...distances);
        expect(nearestName(name, known)).toBe(least <= limit ? known[distances.indexOf(least)] : null);
      },
    ),
    { numRuns: 200 },
  );
});

test("a name of a million letters is compared with nothing short", () => {
  expect(nearestName("a".repeat(1_000_000), FIELDS)).toBeNull();
});
