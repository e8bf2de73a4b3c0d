import { expect, test } from "vitest";
import { replayChat } from "./replay.ts";

test("a stored answer becomes a stream that holds the same text, tool calls and usage", () => {
  const content = "é".repeat(1_201);
  const text = replayChat(
    {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content,
            tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: "{}" } }],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: { total_tokens: 3 },
    },
    true,
  );
  const events = text.trimEnd().split("\n\n");
  expect(events.at(-1)).toBe("data: [DONE]");
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)));
  const deltas = chunks.flatMap((chunk) => chunk.choices.map((choice: { delta: { content?: string } }) => choice.delta));
  expect(deltas.map((delta) => delta.content ?? "").join("")).toBe(content);
  expect(deltas.filter((delta) => delta.content !== undefined)).toHaveLength(3);
  expect(deltas.find((delta) => delta.tool_calls)?.tool_calls).toEqual([
    { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "{}" } },
  ]);
  expect(chunks.at(-2)?.choices[0].finish_reason).toBe("tool_calls");
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 3 } });
});

test("usage is only there when it was asked for", () => {
  const text = replayChat(
    { choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }], usage: { total_tokens: 1 } },
    false,
  );
  expect(text).not.toContain("usage");
});
