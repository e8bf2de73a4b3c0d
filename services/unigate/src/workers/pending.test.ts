import { expect, test } from "vitest";
import { createPending } from "./pending.ts";

test("each answer reaches its question, whatever the order", async () => {
  const pending = createPending<string>("it", 5_000);
  const ids: number[] = [];
  const asked = ["a", "b", "c"].map(() => pending.ask((id) => ids.push(id)));
  for (const id of ids.toReversed()) pending.answer(id, `answer ${id}`);
  expect(await Promise.all(asked)).toEqual(ids.map((id) => `answer ${id}`));
  pending.answer(99, "nobody asked");
});

test("silence is an error that names who is silent; a late answer is nothing", async () => {
  const pending = createPending<string>("the primary", 5);
  let asked = 0;
  await expect(
    pending.ask((id) => {
      asked = id;
    }),
  ).rejects.toThrow("the primary did not answer within 5 ms");
  pending.answer(asked, "late");
});

test("all fail when the other side is gone", async () => {
  const pending = createPending<string>("the primary", 5_000);
  const asked = [pending.ask(() => {}), pending.ask(() => {})];
  pending.drop();
  for (const result of await Promise.allSettled(asked)) expect(result).toMatchObject({ reason: new Error("the primary is gone") });
});
