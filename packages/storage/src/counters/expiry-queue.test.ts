import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ExpiryQueue } from "./expiry-queue.ts";

function drain(queue: ExpiryQueue, now: number): string[] {
  const keys: string[] = [];
  for (let key = queue.popDue(now); key !== null; key = queue.popDue(now)) keys.push(key);
  return keys;
}

test("what is due comes out in order of time, the rest stays", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50)), fc.nat(50), (times, now) => {
      const queue = new ExpiryQueue();
      for (const at of times) queue.push(at, String(at));
      const sorted = times.toSorted((one, other) => one - other);
      expect(drain(queue, now)).toEqual(sorted.filter((at) => at <= now).map(String));
      expect(queue.size).toBe(sorted.filter((at) => at > now).length);
      expect(drain(queue, 50)).toEqual(sorted.filter((at) => at > now).map(String));
    }),
  );
});

test("a rebuilt queue holds what it was given", () => {
  const queue = new ExpiryQueue();
  queue.push(1, "old");
  queue.rebuild([
    { at: 9, key: "c" },
    { at: 3, key: "a" },
    { at: 5, key: "b" },
  ]);
  queue.push(4, "ab");
  expect(drain(queue, 10)).toEqual(["a", "ab", "b", "c"]);
});
