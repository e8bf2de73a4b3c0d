import { expect, test } from "vitest";
import { mistralMessages } from "./messages.ts";

const call = (id: string): object => ({ id, type: "function", function: { name: "f", arguments: "{}" } });

test("messages that fit already stay the same object", () => {
  const json = {
    messages: [{ role: "user", content: "x" }, { role: "assistant", content: "", tool_calls: [call("abcDEF123")] }, "odd", null],
  };
  expect(mistralMessages(json)).toBe(json);
  expect(mistralMessages({})).toEqual({});
});

test("a foreign id becomes nine letters or digits, the same in the call and in its answer", () => {
  const json = {
    messages: [
      { role: "assistant", tool_calls: [call("call_longer_than_nine"), call("abcDEF123")] },
      { role: "tool", tool_call_id: "call_longer_than_nine", content: "2" },
      { role: "tool", tool_call_id: "abcDEF123", content: "3" },
    ],
  };
  const before = structuredClone(json);
  const [assistant, first, second] = mistralMessages(json)["messages"] as { tool_calls?: { id: string }[]; tool_call_id?: string }[];
  expect(first?.tool_call_id).toMatch(/^[a-zA-Z0-9]{9}$/);
  expect(assistant?.tool_calls?.map(({ id }) => id)).toEqual([first?.tool_call_id, "abcDEF123"]);
  expect(second?.tool_call_id).toBe("abcDEF123");
  expect(json).toEqual(before);
});

test.each([
  ["text", "hi", [{ type: "text", text: "hi" }]],
  ["no text", null, []],
  ["parts", [{ type: "text", text: "a" }], [{ type: "text", text: "a" }]],
])("reasoning goes back as a thinking part: %s", (_, content, rest) => {
  const message = { role: "assistant", content, reasoning_content: "hm" };
  expect(mistralMessages({ messages: [message] })).toEqual({
    messages: [{ role: "assistant", content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }, ...rest] }],
  });
});

test("empty reasoning is taken away", () => {
  const message = { role: "assistant", content: "a", reasoning_content: null };
  expect(mistralMessages({ messages: [message] })).toEqual({ messages: [{ role: "assistant", content: "a" }] });
});
