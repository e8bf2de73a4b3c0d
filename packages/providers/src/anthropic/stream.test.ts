import type { JsonObject } from "@unigate/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StreamInput } from "../define.ts";
import anthropic from "./index.ts";

function inputOf(more: Partial<StreamInput> = {}): StreamInput {
  return {
    json: {},
    body: Buffer.from("{}"),
    model: "claude",
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

function readerOf(more: Partial<StreamInput> = {}) {
  const reader = anthropic.surfaces.chat?.stream(inputOf(more));
  if (reader === undefined) throw new Error("no chat surface");
  return reader;
}

function run(events: readonly unknown[], more: Partial<StreamInput> = {}) {
  const reader = readerOf(more);
  for (const event of events) reader.event("", typeof event === "string" ? event : JSON.stringify(event));
  return reader;
}

/** The deltas that the client gets, the first choice's. */
function deltasOf(text: string): JsonObject[] {
  const lines = text.split("\n\n").filter((line) => line.startsWith("data: {"));
  const chunks = lines.map((line) => JSON.parse(line.slice("data: ".length)) as { choices: { delta: JsonObject }[] });
  return chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
}

const start = { type: "message_start", message: { id: "msg_1", model: "claude-x", usage: { input_tokens: 5, output_tokens: 1 } } };
const stop = { type: "message_stop" };
const blockStart = (index: number, block: JsonObject) => ({ type: "content_block_start", index, content_block: block });
const piece = (index: number, delta: JsonObject) => ({ type: "content_block_delta", index, delta });
const blockStop = (index: number) => ({ type: "content_block_stop", index });
const ended = (reason: string, usage: JsonObject = { output_tokens: 9 }) => ({
  type: "message_delta",
  delta: { stop_reason: reason },
  usage,
});
const tool = (index: number, id: string, name: string, input: JsonObject = {}) => blockStart(index, { type: "tool_use", id, name, input });
const args = (index: number, text: string) => piece(index, { type: "input_json_delta", partial_json: text });

describe("tool calls", () => {
  test("are numbered by themselves, and empty arguments are an object", () => {
    const reader = run([
      start,
      blockStart(0, { type: "text", text: "" }),
      piece(0, { type: "text_delta", text: "ok" }),
      blockStop(0),
      tool(1, "toolu_1", "f"),
      args(1, ""),
      blockStop(1),
      tool(2, "toolu_2", "g"),
      args(2, '{"a":'),
      args(2, "1}"),
      blockStop(2),
      ended("tool_use"),
      stop,
    ]);
    expect(deltasOf(reader.state.text)).toEqual([
      { role: "assistant", content: "" },
      { content: "ok" },
      { tool_calls: [{ index: 0, id: "toolu_1", type: "function", function: { name: "f", arguments: "" } }] },
      { tool_calls: [{ index: 0, function: { arguments: "{}" } }] },
      { tool_calls: [{ index: 1, id: "toolu_2", type: "function", function: { name: "g", arguments: "" } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{"a":' } }] },
      { tool_calls: [{ index: 1, function: { arguments: "1}" } }] },
      {},
    ]);
    expect(reader.state).toMatchObject({ done: true, finishReason: "tool_calls", model: "claude-x" });
  });

  test("that come whole with the block start are told whole", () => {
    const reader = run([start, tool(0, "t", "f", { a: 1 }), blockStop(0), ended("tool_use"), stop]);
    expect(reader.state.deltas).toEqual([{ choice: 0, channel: "tool:0", text: '{"a":1}' }]);
  });

  const restarts: [string, unknown[], string[]][] = [
    ["the same, further", [tool(0, "t2", "f"), args(0, '{"a":'), args(0, '"xy"}'), blockStop(0)], ['{"a":"xy"}']],
    ["the same", [tool(0, "t2", "f"), args(0, '{"a":"x'), blockStop(0)], ['{"a":"x']],
    ["different arguments", [tool(0, "t2", "f"), args(0, '{"b"'), args(0, ":1}"), blockStop(0)], ['{"a":"x', '{"b":1}']],
    ["shorter arguments", [tool(0, "t2", "f"), args(0, "{"), blockStop(0)], ['{"a":"x', "{"]],
    ["another function", [tool(0, "t2", "g"), args(0, "{}"), blockStop(0)], ['{"a":"x', "{}"]],
  ];
  test.each(restarts)("of a message that starts anew with %s", (_name, events, expected) => {
    const reader = run([start, tool(0, "t1", "f"), args(0, '{"a":"x'), start, ...events, ended("tool_use"), stop]);
    const answer = reader.assembled() as { choices: { message: { tool_calls: { function: { arguments: string } }[] } }[] };
    expect(answer.choices[0]?.message.tool_calls.map((call) => call.function.arguments)).toEqual(expected);
    expect(reader.state.text.match(/"role":"assistant"/g)).toHaveLength(1);
  });
});

describe("thoughts", () => {
  const events = [
    start,
    blockStart(0, { type: "thinking", thinking: "", signature: "" }),
    piece(0, { type: "thinking_delta", thinking: "hm" }),
    piece(0, { type: "signature_delta", signature: "c2ln" }),
    blockStop(0),
    blockStart(1, { type: "redacted_thinking", data: "eA==" }),
    blockStop(1),
    blockStart(2, { type: "text", text: "" }),
    piece(2, { type: "text_delta", text: "yes" }),
    piece(2, { type: "citations_delta", citation: { cited_text: "a" } }),
    piece(2, { type: "citations_delta", citation: { cited_text: "b" } }),
    blockStop(2),
    ended("end_turn"),
    stop,
  ];

  test("strict: only the text, but the thinking counts as content", () => {
    const reader = readerOf();
    for (const event of events.slice(0, 2)) reader.event("", JSON.stringify(event));
    expect(reader.state.content).toBe(true);
    for (const event of events.slice(2)) reader.event("", JSON.stringify(event));
    expect(deltasOf(reader.state.text)).toEqual([{ role: "assistant", content: "" }, { content: "yes" }, {}]);
    expect(reader.state.text).not.toContain("content_blocks");
  });

  test("otherwise: every block in pieces, and whole in the assembled answer", () => {
    const reader = run(events, { strict: false });
    const blocks = deltasOf(reader.state.text).flatMap((delta) => (delta["content_blocks"] ?? []) as JsonObject[]);
    expect(blocks).toEqual([
      { index: 0, delta: { thinking: "hm" } },
      { index: 0, delta: { signature: "c2ln" } },
      { index: 1, delta: { data: "eA==" } },
      { index: 2, delta: { text: "yes" } },
      { index: 2, delta: { citations: [{ cited_text: "a" }] } },
      { index: 2, delta: { citations: [{ cited_text: "b" }] } },
    ]);
    expect(reader.assembled()).toMatchObject({
      choices: [
        {
          message: {
            content: "yes",
            content_blocks: [
              { type: "thinking", thinking: "hm", signature: "c2ln" },
              { type: "redacted_thinking", data: "eA==" },
              { type: "text", text: "yes", citations: [{ cited_text: "a" }, { cited_text: "b" }] },
            ],
          },
        },
      ],
    });
  });
});

test("the provider's own tools are left out in strict mode, and told whole otherwise", () => {
  const events = [
    start,
    blockStart(0, { type: "server_tool_use", id: "srv", name: "web_search", input: {} }),
    args(0, '{"query":'),
    args(0, '"x"}'),
    blockStop(0),
    blockStart(1, { type: "web_search_tool_result", tool_use_id: "srv", content: [] }),
    blockStop(1),
    ended("end_turn", { output_tokens: 2, server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 } }),
    stop,
  ];
  const strict = run(events);
  expect(deltasOf(strict.state.text)).toEqual([{ role: "assistant", content: "" }, {}]);
  expect(strict.state).toMatchObject({ finishReason: "stop", usage: { units: { web_search_requests: 1 } } });
  const told = deltasOf(run(events, { strict: false }).state.text).flatMap((delta) => (delta["content_blocks"] ?? []) as JsonObject[]);
  expect(told[0]?.["delta"]).toEqual({ type: "server_tool_use", id: "srv", name: "web_search", input: { query: "x" } });
});

test("usage: later counts lie over earlier ones, cache writes keep their lifetimes", () => {
  const first = {
    input_tokens: 10,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 7,
    output_tokens: 1,
    cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
  };
  const reader = run(
    [
      { type: "message_start", message: { id: "m", model: "c", usage: first } },
      { type: "ping" },
      ended("end_turn", { input_tokens: null, output_tokens: 30, output_tokens_details: { thinking_tokens: 12 } }),
      stop,
    ],
    { clientUsage: true, strict: false },
  );
  expect(reader.state.usage).toMatchObject({ input: 10, cacheRead: 20, cacheWrite5m: 3, cacheWrite1h: 4, outputText: 18, reasoning: 12 });
  const events = reader.state.text.split("\n\n");
  expect(JSON.parse(events.at(-3)?.slice("data: ".length) ?? "")).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 37, completion_tokens: 30, total_tokens: 67, cache_read_input_tokens: 20, cache_creation_input_tokens: 7 },
  });
});

test("a refusal is told with its reason", () => {
  const details = { type: "refusal", explanation: "not that" };
  const reader = run([start, { type: "message_delta", delta: { stop_reason: "refusal", stop_details: details } }, stop]);
  expect(deltasOf(reader.state.text)).toEqual([{ role: "assistant", content: "" }, { refusal: "not that" }, {}]);
  expect(reader.state.finishReason).toBe("content_filter");
});

describe("errors inside the stream", () => {
  const kinds: [string, number][] = [
    ["overloaded_error", 529],
    ["rate_limit_error", 429],
    ["api_error", 500],
    ["invalid_request_error", 400],
    ["request_too_large", 413],
    ["something_new", 500],
  ];
  test.each(kinds)("%s stands for %i", (type, status) => {
    const reader = run([start, { type: "error", error: { type, message: "no" } }, piece(0, { type: "text_delta", text: "late" }), stop]);
    expect(reader.state.failure).toMatchObject({ status, type, code: type, message: "anthropic error: no" });
    expect(reader.state).toMatchObject({ done: false, content: false });
    expect(reader.state.text).not.toContain("late");
  });

  test.each(["{", "null", "[1]", "<html>"])("data that is no event: %s", (data) => {
    const reader = run([start, data]);
    expect(reader.state.failure).toMatchObject({ status: 502, code: "upstream_invalid" });
  });

  test("blank data and unknown events are passed over", () => {
    expect(run(["", " ", { type: "brand_new" }, {}, start]).state.failure).toBeNull();
  });
});

test("without message_stop the answer is not whole", () => {
  const reader = run([start, ended("end_turn")]);
  reader.end();
  expect(reader.state.done).toBe(false);
});

const block = fc.oneof(
  fc.record({
    type: fc.constantFrom("text", "thinking", "tool_use", "server_tool_use", "redacted_thinking"),
    text: fc.jsonValue(),
    input: fc.jsonValue(),
  }),
  fc.jsonValue(),
);
const anyEvent = fc.oneof(
  fc.jsonValue(),
  fc.record({
    type: fc.constantFrom(
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
      "error",
      "ping",
    ),
    index: fc.oneof(fc.nat(2), fc.jsonValue()),
    message: fc.jsonValue(),
    content_block: block,
    delta: fc.oneof(
      fc.record({
        type: fc.constantFrom("text_delta", "input_json_delta", "citations_delta", "signature_delta"),
        text: fc.jsonValue(),
        partial_json: fc.string(),
      }),
      fc.jsonValue(),
    ),
    usage: fc.jsonValue(),
    error: fc.jsonValue(),
  }),
);

test("no events whatever make the reader throw, and what the client gets is always whole events", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 12 }), fc.boolean(), (events, strict) => {
      const reader = run(events, { strict });
      reader.end();
      reader.assembled();
      for (const line of reader.state.text.split("\n\n").filter((text) => text !== "")) {
        if (line !== "data: [DONE]") JSON.parse(line.slice("data: ".length));
      }
      expect(reader.state.done && reader.state.failure !== null).toBe(false);
    }),
    { numRuns: 400 },
  );
});

test("nesting without end is an error of the stream, not of the gateway", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const reader = run([start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","input":{"a":${deep}}}}`]);
  expect(reader.state.failure).toMatchObject({ status: 502 });
});
