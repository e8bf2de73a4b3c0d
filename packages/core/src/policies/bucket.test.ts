import * as fc from "fast-check";
import { expect, test } from "vitest";
import { bucketOf } from "./bucket.ts";
import { context } from "./policies.fixture.ts";

test.each([
  [[], "default"],
  [["api_key"], '["api_key","key-1"]'],
  [["model", "metadata.team"], '["model","@main/gpt-4.1","metadata.team","a:b"]'],
  [["metadata.absent"], null],
  [["api_key", "metadata.absent"], null],
] as const)("the bucket of a group by %j is %s", (groups, expected) => {
  expect(bucketOf(groups, context({ metadata: { team: "a:b" } }))).toBe(expected);
});

test("different values never share a bucket, the same values always do, and no bucket is long", () => {
  // Whatever a JSON text can hold, halves of characters and separators too; long values differ at their ends only.
  const anything = fc.oneof(
    fc.string({ minLength: 1, unit: "binary" }),
    fc.string({ minLength: 1, unit: fc.constantFrom('"', ",", "\\", "[", "]", ":", "-", "#", "\ud800", "a") }),
    fc.string({ minLength: 1, maxLength: 2 }).map((end) => "x".repeat(400) + end),
  );
  const groups = ["metadata.a", "metadata.b", "metadata.c"];
  const tuple = fc.tuple(anything, anything, anything);
  const pairs = fc.oneof(
    fc.tuple(tuple, tuple),
    tuple.map((one) => [one, one] as const),
    // The same text cut in other places.
    fc.tuple(fc.string({ minLength: 5, maxLength: 8 }), fc.tuple(fc.nat(2), fc.nat(2))).map(([text, [left, right]]) => {
      const cut = (at: number) => [text.slice(0, at), text.slice(at, at + 1), text.slice(at + 1)] as const;
      return [cut(left + 1), cut(right + 1)] as const;
    }),
  );
  fc.assert(
    fc.property(pairs, ([one, other]) => {
      const [first, second] = [one, other].map(([a, b, c]) => bucketOf(groups, context({ metadata: { a, b, c } })));
      if (typeof first !== "string") throw new Error("there is a value for every group");
      expect(first.length).toBeLessThanOrEqual(200);
      // Nothing that another encoding would change on its way to a store.
      expect(Buffer.from(first).toString()).toBe(first);
      expect(first === second).toBe(JSON.stringify(one) === JSON.stringify(other));
    }),
    { numRuns: 2_000 },
  );
});

test("policies that group by other keys never share a bucket by their values", () => {
  const of = context({ metadata: { a: "x", b: "x" } });
  const buckets = [["metadata.a"], ["metadata.b"], ["metadata.a", "metadata.b"], []].map((groups) => bucketOf(groups, of));
  expect(new Set(buckets).size).toBe(4);
});
