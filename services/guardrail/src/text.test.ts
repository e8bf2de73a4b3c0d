import { describe, expect, test } from "vitest";
import { replyText, requestText } from "./text.ts";

describe("the text of a request", () => {
  test.each([
    ["the last message", "chat", { messages: [{ content: "one" }, { content: "two" }] }, "two"],
    [
      "its text parts",
      "chat",
      { messages: [{ content: [{ type: "text", text: "a" }, { type: "image_url" }, { type: "text", text: "b" }] }] },
      "a\nb",
    ],
    ["Anthropic's parts", "messages", { messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }] }, "hi"],
    ["no text in a tool call", "chat", { messages: [{ content: null, tool_calls: [] }] }, ""],
    ["no message", "chat", { messages: [] }, ""],
    ["a prompt", "completions", { prompt: "say" }, "say"],
    ["prompts", "completions", { prompt: ["say", "it"] }, "say\nit"],
    ["tokens as a prompt", "completions", { prompt: [1, 2, 3] }, ""],
    ["an input", "embeddings", { input: "embed" }, "embed"],
    ["inputs", "embeddings", { input: ["embed", "me"] }, "embed\nme"],
    ["the last item of Responses", "responses", { input: [{ content: "a" }, { content: [{ type: "input_text", text: "b" }] }] }, "b"],
    ["what is there, on an unknown surface", "", { messages: [{ content: "m" }], prompt: "p" }, "m"],
    ["a prompt on an unknown surface", "", { prompt: "p", input: "i" }, "p"],
    ["an input on an unknown surface", "proxy", { input: "i" }, "i"],
    ["the surface's own field beside others", "completions", { messages: [{ content: "harmless" }], prompt: "real" }, "real"],
    ["nonsense", "chat", { messages: "text" }, ""],
  ])("%s", (_name, surface, body, text) => {
    expect(requestText(surface, body)).toBe(text);
  });
});

describe("the text of an answer", () => {
  test.each([
    ["a chat choice", { choices: [{ message: { content: "a" } }, { message: { content: "b" } }] }, "a"],
    ["a chat choice in parts", { choices: [{ message: { content: [{ type: "text", text: "a" }] } }] }, "a"],
    ["a tool call", { choices: [{ message: { content: null } }] }, ""],
    ["a completion", { choices: [{ text: "t" }] }, "t"],
    ["no choice", { choices: [] }, ""],
    [
      "Anthropic's blocks",
      {
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "x" },
          { type: "text", text: "y" },
        ],
      },
      "x\ny",
    ],
    ["Responses", { output: [{ type: "reasoning" }, { type: "message", content: [{ type: "output_text", text: "o" }] }] }, "o"],
    ["nothing known", { data: [] }, ""],
  ])("%s", (_name, reply, text) => {
    expect(replyText(reply)).toBe(text);
  });
});
