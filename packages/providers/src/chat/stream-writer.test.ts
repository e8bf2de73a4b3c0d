import { describe, expect, test } from "vitest";
import type { StreamInput } from "../define.ts";
import { createChatStream } from "./stream-writer.ts";
import type { ChatChunk, ChatChunkChoice, ChatDelta } from "./types.ts";
import { usageOfOpenAi } from "./usage.ts";

function input(more: Partial<StreamInput> = {}): StreamInput {
  return {
    body: Buffer.from("{}"),
    json: {},
    model: "m",
    stream: true,
    clientUsage: false,
    strict: true,
    settings: {},
    headers: {},
    created: 1_700_000_000,
    wantDeltas: true,
    wantAssembled: true,
    ...more,
  };
}

function choice(delta: ChatDelta, finish: string | null = null, index = 0): ChatChunkChoice {
  return { index, delta, finish_reason: finish };
}

function chunk(...choices: ChatChunkChoice[]): ChatChunk {
  return { id: "c1", object: "chat.completion.chunk", created: 7, model: "m-1", choices };
}

describe("what is written", () => {
  test("the given text goes out as it is, then [DONE], once", () => {
    const stream = createChatStream(input());
    stream.chunk(chunk(choice({ content: "a" }, "stop")), '{"any": "text"}');
    stream.done();
    stream.done();
    stream.chunk(chunk(choice({ content: "late" })));
    expect(stream.state.text).toBe('data: {"any": "text"}\n\ndata: [DONE]\n\n');
    expect(stream.state).toMatchObject({ done: true, finishReason: "stop", model: "m-1" });
  });

  test("a text with a line break is written anew: it would end the data line", () => {
    const stream = createChatStream(input());
    stream.chunk(chunk(choice({ content: "a" })), '{\n"choices": []}');
    expect(stream.state.text).toBe(`data: ${JSON.stringify(chunk(choice({ content: "a" })))}\n\n`);
  });

  test("usage is written at the end, only for a client that asked", () => {
    for (const clientUsage of [true, false]) {
      const stream = createChatStream(input({ clientUsage }));
      stream.chunk(chunk(choice({ content: "a" }, "stop")), "{}");
      stream.usage(usageOfOpenAi({ prompt_tokens: 3, completion_tokens: 1 }));
      stream.usage(usageOfOpenAi({ prompt_tokens: 3, completion_tokens: 2 }));
      stream.done();
      const events = stream.state.text.trim().split("\n\n");
      expect(events).toHaveLength(clientUsage ? 3 : 2);
      if (clientUsage) {
        const last = JSON.parse((events[1] ?? "").slice(6)) as ChatChunk;
        expect(last).toMatchObject({ id: "c1", created: 7, model: "m-1", choices: [], usage: { completion_tokens: 2, total_tokens: 5 } });
      }
      expect(stream.state.usage?.outputText).toBe(2);
    }
  });

  test("after a failure nothing more is written", () => {
    const stream = createChatStream(input({ clientUsage: true }));
    const failure = { status: 529, message: "busy", type: "api_error", param: null, code: null };
    stream.fail(failure);
    stream.fail({ ...failure, status: 500 });
    stream.chunk(chunk(choice({ content: "late" })));
    stream.usage(usageOfOpenAi({ prompt_tokens: 1 }));
    stream.done();
    expect(stream.state).toMatchObject({ text: "", done: false, usage: null, failure });
  });
});

describe("content", () => {
  test.each<[string, ChatDelta & Record<string, unknown>, boolean]>([
    ["role only", { role: "assistant" }, false],
    ["empty text", { role: "assistant", content: "" }, false],
    ["nulls", { content: null, refusal: null, tool_calls: [], function_call: null, audio: null }, false],
    ["text", { content: "a" }, true],
    ["reasoning", { reasoning_content: "hm" }, true],
    ["reasoning, spelled otherwise", { reasoning: "hm" }, true],
    ["refusal", { refusal: "no" }, true],
    ["tool call", { tool_calls: [{ index: 0, id: "x", function: { name: "f", arguments: "" } }] }, true],
    ["content block", { content_blocks: [{ index: 0, delta: { thinking: "hm" } }] }, true],
  ])("%s", (_, delta, expected) => {
    const stream = createChatStream(input());
    stream.chunk(chunk(choice(delta)));
    expect(stream.state.content).toBe(expected);
  });
});

test("a plain stop after tool calls is reported as tool_calls, for the choice that called", () => {
  const stream = createChatStream(input());
  stream.chunk(chunk(choice({ tool_calls: [{ index: 0, id: "x", function: { name: "f", arguments: "{}" } }] }, null, 1)));
  stream.chunk(chunk(choice({}, "stop", 0)), "raw-0");
  stream.chunk(chunk(choice({}, "stop", 1)), "raw-1");
  const events = stream.state.text.trim().split("\n\n");
  expect(events[1]).toBe("data: raw-0");
  expect(events[2]).toContain('"finish_reason":"tool_calls"');
  expect(stream.state.finishReason).toBe("stop");
});

test("deltas name their choice and channel", () => {
  const stream = createChatStream(input());
  stream.chunk(chunk(choice({ reasoning_content: "hm" }), choice({ content: "b" }, null, 1)));
  stream.chunk(chunk(choice({ tool_calls: [{ index: 2, function: { arguments: '{"a"' } }], refusal: "no" })));
  expect(stream.state.deltas).toEqual([
    { choice: 0, channel: "reasoning", text: "hm" },
    { choice: 1, channel: "text", text: "b" },
    { choice: 0, channel: "text", text: "no" },
    { choice: 0, channel: "tool:2", text: '{"a"' },
  ]);
});

test("nothing is collected that was not asked for", () => {
  const stream = createChatStream(input({ wantDeltas: false, wantAssembled: false }));
  stream.chunk(chunk(choice({ content: "a" })));
  expect(stream.state.deltas).toEqual([]);
  expect(stream.assembled()).toEqual({});
});

test("the assembled answer joins texts, tool calls by index, choices by index, and keeps unknown fields", () => {
  const stream = createChatStream(input());
  const first = { ...chunk(choice({ role: "assistant", content: "" })), system_fingerprint: "fp" };
  stream.chunk(first);
  stream.chunk(chunk(choice({ content: "b0" }, null, 1)));
  stream.chunk(chunk(choice({ tool_calls: [{ index: 1, id: "t1", type: "function", function: { name: "g", arguments: '{"x":' } }] })));
  stream.chunk(chunk(choice({ tool_calls: [{ index: 0, id: "t0", type: "function", function: { name: "f", arguments: "{}" } }] })));
  stream.chunk(chunk(choice({ tool_calls: [{ index: 1, function: { arguments: "1}" } }] })));
  stream.chunk(chunk({ ...choice({ content: "!" }, "stop", 1), logprobs: { content: [{ token: "!" }] } }));
  stream.chunk(chunk({ ...choice({ reasoning_content: "hm", annotations: [1] } as ChatDelta, "tool_calls"), logprobs: null }));
  stream.usage(usageOfOpenAi({ prompt_tokens: 3, completion_tokens: 2 }));
  expect(stream.assembled()).toEqual({
    id: "c1",
    object: "chat.completion",
    created: 7,
    model: "m-1",
    system_fingerprint: "fp",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: null,
          refusal: null,
          reasoning_content: "hm",
          annotations: [1],
          tool_calls: [
            { id: "t0", type: "function", function: { name: "f", arguments: "{}" } },
            { id: "t1", type: "function", function: { name: "g", arguments: '{"x":1}' } },
          ],
        },
        logprobs: null,
        finish_reason: "tool_calls",
      },
      {
        index: 1,
        message: { role: "assistant", content: "b0!", refusal: null },
        logprobs: { content: [{ token: "!" }] },
        finish_reason: "stop",
      },
    ],
    usage: expect.objectContaining({ prompt_tokens: 3, completion_tokens: 2 }) as unknown,
  });
});

test("content blocks are assembled by index", () => {
  const stream = createChatStream(input({ strict: false }));
  for (const block of [
    { index: 0, delta: { thinking: "a" } },
    { index: 1, delta: { text: "x" } },
    { index: 0, delta: { thinking: "b" } },
    { index: 0, delta: { signature: "s" } },
    { index: 2, delta: { data: "enc" } },
  ]) {
    stream.chunk(chunk(choice({ content_blocks: [block] })));
  }
  expect(stream.assembled()["choices"]).toMatchObject([
    {
      message: {
        content_blocks: [
          { type: "thinking", thinking: "ab", signature: "s" },
          { type: "text", text: "x" },
          { type: "redacted_thinking", data: "enc" },
        ],
      },
    },
  ]);
});
