import { expect, test } from "vitest";
import { newId, newSpanId, newTraceId, newUuid } from "./ids.ts";

const COUNT = 2_000;

test.each([
  ["trace ids", newTraceId, /^[0-9a-f]{32}$/],
  ["span ids", newSpanId, /^[0-9a-f]{16}$/],
  ["uuids", () => newUuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/],
  ["ids", () => newId("pc-"), /^pc-[0-9a-f]{24}$/],
])("%s have their form and do not repeat, over many fillings of the pool", (_, make, form) => {
  const made = Array.from({ length: COUNT }, () => make());
  expect(made.filter((id) => !form.test(id))).toEqual([]);
  expect(new Set(made).size).toBe(COUNT);
});

test("an id keeps its value when the pool is filled again", () => {
  const id = newTraceId();
  const copy = Buffer.from(id).toString();
  for (let index = 0; index < 1_000; index++) newTraceId();
  expect(id).toBe(copy);
});

test("a uuid tells its time and sorts by it", () => {
  const times = [0, 1, 1_700_000_000_000, 1_700_000_000_001, 2 ** 48 - 1];
  const made = times.map((time) => newUuid(time));
  expect(made.map((id) => Number.parseInt(id.slice(0, 13).replace("-", ""), 16))).toEqual(times);
  expect([...made].sort()).toEqual(made);
});

test("all variants of RFC 9562 come up", () => {
  const variants = new Set(Array.from({ length: COUNT }, () => newUuid()[19]));
  expect([...variants].sort()).toEqual(["8", "9", "a", "b"]);
});
