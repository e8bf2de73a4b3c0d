import { expect, test, vi } from "vitest";
import { decodeAnswerBatch, type SharedAnswer } from "./answer-batch.ts";
import { AnswerWriter } from "./answer-writer.ts";
import { ANSWER_PART_BYTES, BATCH_BYTES, MAX_UNSENT_BYTES } from "./limits.ts";

function writer(takes: boolean) {
  const batches: SharedAnswer[][] = [];
  const waiting: (() => void)[] = [];
  const sent: number[] = [];
  const empty = vi.fn();
  const answers = new AnswerWriter((bytes, onTaken) => {
    batches.push([...decodeAnswerBatch(bytes).answers]);
    if (takes) setImmediate(onTaken);
    else waiting.push(onTaken);
  }, empty);
  const add = (id: number, bytes: number) =>
    answers.add({ id, status: 0, message: "", payload: Buffer.alloc(bytes, id), unserved: false, onSent: () => sent.push(id) });
  return { answers, batches, waiting, sent, empty, add };
}

/** The end of this turn of the event loop, after what was put there before. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("the answers of a turn leave together, in their order", async () => {
  const { answers, batches, sent, add } = writer(true);
  for (let id = 1; id <= 100; id += 1) add(id, 700);
  expect([batches.length, answers.owedBytes]).toEqual([0, 70_000]);
  await turn();
  await turn();
  expect(batches.map((batch) => batch.map(({ id }) => id))).toEqual([[...Array(100).keys()].map((n) => n + 1)]);
  expect([sent.length, answers.owedBytes]).toEqual([100, 0]);
});

test("a long answer is sent in parts, and shorter ones come between them", async () => {
  const { batches, sent, add } = writer(true);
  const long = 40 * ANSWER_PART_BYTES + 1;
  add(1, long);
  for (let id = 2; id < 10; id += 1) add(id, 700);
  while (sent.length < 9) await turn();
  expect(sent.at(-1)).toBe(1);
  expect(batches[0]?.length).toBeGreaterThan(8);
  const parts = batches.flat().filter(({ id }) => id === 1);
  expect(parts.map(({ more }) => more)).toEqual([...Array(40).fill(true), false]);
  expect(Buffer.concat(parts.map(({ payload }) => payload)).equals(Buffer.alloc(long, 1))).toBe(true);
});

test("what nobody takes is held back, and sent on once there is room", async () => {
  const { answers, batches, waiting, sent, add } = writer(false);
  for (let id = 1; id <= 100; id += 1) add(id, ANSWER_PART_BYTES);
  await turn();
  const bytes = () => batches.flat().reduce((sum, { payload }) => sum + payload.length, 0);
  expect(bytes()).toBeLessThanOrEqual(MAX_UNSENT_BYTES + BATCH_BYTES);
  expect(answers.owedBytes).toBe(100 * ANSWER_PART_BYTES);
  for (let taken = waiting.shift(); taken !== undefined; taken = waiting.shift()) taken();
  expect([sent.length, answers.owedBytes, bytes()]).toEqual([100, 0, 100 * ANSWER_PART_BYTES]);
});

test("what nobody waits for any more is not sent, and not owed", async () => {
  const { answers, batches, waiting, sent, empty, add } = writer(false);
  for (const id of [1, 2, 3]) add(id, 40 * ANSWER_PART_BYTES);
  await turn();
  const before = batches.flat().filter(({ id }) => id === 2).length;
  answers.drop(2);
  answers.drop(99);
  for (let taken = waiting.shift(); taken !== undefined; taken = waiting.shift()) taken();
  expect(batches.flat().filter(({ id }) => id === 2)).toHaveLength(before);
  expect([sent, answers.owedBytes]).toEqual([[1, 3], 0]);
  expect([answers.isEmpty, empty.mock.calls.length]).toEqual([true, 1]);
});

test("after its end nothing is sent", async () => {
  const { answers, batches, add } = writer(true);
  add(1, 10);
  answers.close();
  await turn();
  expect(batches).toEqual([]);
});
