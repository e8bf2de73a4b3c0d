import { expect, test } from "vitest";
import { Turn } from "./turn.ts";

function compute(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test("long work of many is spread over turns of the event loop", async () => {
  const turn = new Turn();
  const log: string[] = [];
  let open = true;
  const count = () => {
    log.push("other");
    if (open) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(
    ["a", "b", "c"].map(async (name) => {
      while (turn.isLong) await turn.next();
      log.push(name);
      compute(15);
    }),
  );
  open = false;
  expect(log.filter((entry) => entry !== "other")).toEqual(["a", "b", "c"]);
  expect(log[0]).toBe("a");
  expect(log.indexOf("other")).toBeLessThan(log.indexOf("b"));
  expect(log.slice(log.indexOf("b"), log.indexOf("c"))).toContain("other");
});
