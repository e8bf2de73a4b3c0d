import { expect, test } from "vitest";
import { AnswerFlow, MAX_UNSENT_ANSWERS, MAX_UNSENT_BYTES } from "./answer-flow.ts";

test.each([
  ["answers", 10, MAX_UNSENT_ANSWERS],
  ["bytes", MAX_UNSENT_BYTES / 4, 4],
])("there is room until too many %s are unsent, and again once one was taken", async (_, bytes, most) => {
  const flow = new AnswerFlow();
  const taken: (() => void)[] = [];
  for (let count = 0; count < most; count += 1) {
    expect(flow.room()).toBeNull();
    taken.push(flow.writing(bytes));
  }
  const room = flow.room();
  expect(room).toBeInstanceOf(Promise);
  taken[0]?.();
  await room;
  expect(flow.room()).toBeNull();
});

test("closing it lets a writer go on, who then sees that the call is over", async () => {
  const flow = new AnswerFlow();
  flow.writing(MAX_UNSENT_BYTES);
  const room = flow.room();
  flow.close();
  await room;
  expect(flow.room()).toBeNull();
});
