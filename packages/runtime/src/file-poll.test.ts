import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pollFile } from "./file-poll.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Looks at `marks` one after the other and tells at which looks a change was reported. */
async function reportedAt(marks: readonly string[], first: string): Promise<number[]> {
  let looks = 0;
  const reported: number[] = [];
  const look = async () => marks[looks++] ?? marks.at(-1) ?? "";
  const stop = pollFile(look, first, 10, async () => reported.push(looks));
  await vi.advanceTimersByTimeAsync(10 * marks.length);
  stop();
  await vi.advanceTimersByTimeAsync(100);
  expect(looks).toBe(marks.length);
  return reported;
}

test.each([
  ["the same file", ["a", "a", "a"], []],
  ["another file, once it is steady", ["a", "b", "b", "b"], [3]],
  ["a file being written, only at its end", ["b", "c", "d", "e", "e", "e"], [5]],
  ["each of two edits", ["b", "b", "c", "c"], [2, 4]],
  ["a file that went and came back as it was", ["missing", "a", "a"], []],
  ["a file that is gone", ["missing", "missing"], [2]],
])("reports %s", async (_case, marks, expected) => {
  expect(await reportedAt(marks, "a")).toEqual(expected);
});

test("does not look again while a change is being dealt with", async () => {
  let looks = 0;
  let release: () => void = () => {};
  const stop = pollFile(
    async () => {
      looks += 1;
      return "b";
    },
    "a",
    10,
    () => new Promise<void>((resolve) => (release = resolve)),
  );
  await vi.advanceTimersByTimeAsync(100);
  expect(looks).toBe(2);
  release();
  await vi.advanceTimersByTimeAsync(20);
  expect(looks).toBe(4);
  stop();
});
