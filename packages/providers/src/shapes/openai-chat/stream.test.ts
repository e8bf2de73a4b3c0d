import type { JsonObject } from "@unigate/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StreamInput, StreamReader } from "../../define.ts";
import type { OpenAiChatOptions } from "./options.ts";
import { createOpenAiReader } from "./stream.ts";

function reader(more: Partial<StreamInput> = {}, options: OpenAiChatOptions = {}): StreamReader {
  const input: StreamInput = {
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
  return createOpenAiReader("acme", input, options);
}

function chunk(delta: JsonObject, finish: string | null = null, more: JsonObject = {}): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m-1", choices, ...more });
}

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

function usageChunk(usage: JsonObject = USAGE): string {
  return JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m-1", choices: [], usage });
}

function feed(stream: StreamReader, ...events: string[]): StreamReader {
  for (const data of events) stream.event("", data);
  return stream;
}

function written(stream: StreamReader): string[] {
  return stream.state.text === ""
    ? []
    : stream.state.text
        .slice(0, -2)
        .split("\n\n")
        .map((event) => event.slice("data: ".length));
}

function choices(stream: StreamReader): unknown {
  return stream.assembled()["choices"];
}

test("events pass as they came; the usage that was asked for is kept from the client", () => {
  const events = [
    '{"choices":[],"prompt_filter_results":[1], "id":"","created":0,"object":""}',
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "é😀" }),
    chunk({}, "stop"),
  ];
  const stream = feed(reader(), ...events, usageChunk(), "[DONE]");
  expect(written(stream)).toEqual([...events, "[DONE]"]);
  expect(stream.state).toMatchObject({ done: true, failure: null, finishReason: "stop", model: "m-1", usage: { input: 3, outputText: 2 } });
});

test("a client that asked gets the upstream's own usage chunk, once and last, though it came twice", () => {
  const stream = feed(
    reader({ clientUsage: true }),
    chunk({ content: "a" }, "stop"),
    usageChunk({ ...USAGE, completion_tokens: 1 }),
    usageChunk(),
    "[DONE]",
  );
  expect(written(stream)).toEqual([chunk({ content: "a" }, "stop"), usageChunk(), "[DONE]"]);
});

test.each([true, false])("usage beside content is moved to the end (asked: %s)", (clientUsage) => {
  const stream = feed(
    reader({ clientUsage }),
    chunk({ content: "a" }, null, { usage: { prompt_tokens: 3, completion_tokens: 1 } }),
    chunk({}, "stop", { usage: USAGE }),
    "[DONE]",
  );
  const events = written(stream)
    .slice(0, -1)
    .map((text) => JSON.parse(text) as JsonObject);
  expect(events.map((event) => event["usage"])).toEqual(clientUsage ? [null, null, USAGE] : [undefined, undefined]);
  expect(stream.state.usage).toMatchObject({ input: 3, outputText: 2 });
});

test("usage under x_groq counts, and its chunk passes as it came", () => {
  const last = chunk({}, "stop", { x_groq: { id: "r", usage: USAGE } });
  const stream = feed(reader({ clientUsage: true }), last, "[DONE]");
  expect(written(stream)[0]).toBe(last);
  expect(JSON.parse(written(stream)[1] ?? "")).toMatchObject({ choices: [], usage: USAGE });
});

test("usage that leaves reasoning out of completion_tokens is put right for the client", () => {
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 12, completion_tokens_details: { reasoning_tokens: 7 } };
  const stream = feed(reader({ clientUsage: true }), chunk({ content: "a" }, "stop"), usageChunk(usage), "[DONE]");
  expect(JSON.parse(written(stream)[1] ?? "")).toMatchObject({ usage: { ...usage, completion_tokens: 9 } });
});

describe("the end", () => {
  test.each<[string, OpenAiChatOptions, string[], boolean]>([
    ["nothing came", {}, [], false],
    ["cut in the content", {}, [chunk({ content: "a" })], false],
    ["cut in the content, usage on every chunk", {}, [chunk({ content: "a" }, null, { usage: USAGE })], false],
    ["finish reason alone", {}, [chunk({}, "stop")], false],
    ["finish reason alone, from a vendor without [DONE]", { terminal: "finish" }, [chunk({}, "stop")], true],
    ["finish reason and usage", {}, [chunk({}, "stop"), usageChunk()], true],
    ["[DONE]", {}, [chunk({}, "stop"), "[DONE]"], true],
  ])("%s", (_, options, events, done) => {
    const stream = feed(reader({}, options), ...events);
    stream.end();
    expect(stream.state.done).toBe(done);
    expect(stream.state.text.split("[DONE]").length - 1).toBe(done ? 1 : 0);
  });
});

describe("failures", () => {
  test.each<[string, string, string, number]>([
    ["an error event", "error", '{"error":{"message":"bad call","code":"tool_use_failed"}}', 400],
    ["an error event without an error", "error", '{"x":1}', 502],
    ["a top-level error beside choices", "", chunk({ content: "" }, null, { error: { message: "limit", code: 400 } }), 400],
    ["an overload", "", '{"error":{"message":"busy","type":"overloaded_error"}}', 529],
    ["an error object", "", '{"object":"error","message":"m","code":"3505"}', 502],
    ["a list with an error", "", '[{"error":{"message":"m","code":503}}]', 503],
    ["no JSON", "", "<html>", 502],
    ["nesting without end", "", `{"choices":[],"more":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, 502],
    ["half of a JSON text", "", '{"choices":[', 502],
    ["choices of another kind", "", '{"choices":["x"]}', 502],
    ["[DONE] before anything", "", "[DONE]", 502],
  ])("%s", (_, name, data, status) => {
    const stream = reader();
    if (data !== "[DONE]") stream.event("", chunk({ content: "before" }));
    stream.state.text = "";
    stream.event(name, data);
    stream.event("", chunk({ content: "late" }));
    stream.event("", "[DONE]");
    stream.end();
    expect(stream.state).toMatchObject({ text: "", done: false, failure: { status } });
  });

  test("never throws, whatever the data", () => {
    const json = fc.jsonValue({ maxDepth: 5 });
    const near = fc.record({
      choices: fc.array(fc.record({ index: json, delta: json, finish_reason: json }, { requiredKeys: [] })),
      usage: json,
      error: fc.option(json),
    });
    const tools = fc.record({ choices: fc.array(fc.record({ delta: fc.record({ tool_calls: json, content: json }) }), { maxLength: 3 }) });
    const data = fc.oneof(
      fc.string(),
      fc.oneof(json, near, tools).map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.string(), fc.array(data, { maxLength: 4 }), (name, events) => {
        const stream = reader({ clientUsage: true });
        for (const event of events) stream.event(name, event);
        stream.end();
        stream.assembled();
        if (stream.state.failure !== null) expect(stream.state.done).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

describe("tool calls", () => {
  function call(piece: JsonObject): string {
    return chunk({ tool_calls: [piece] });
  }

  test("well-formed pieces pass as they came", () => {
    const events = [
      call({ index: 0, id: "t0", type: "function", function: { name: "f", arguments: "" } }),
      call({ index: 0, function: { arguments: "{}" } }),
      chunk({}, "tool_calls"),
    ];
    expect(written(feed(reader(), ...events))).toEqual(events);
  });

  test.each<[string, JsonObject[], unknown]>([
    [
      "without an index",
      [
        { id: "a", function: { name: "f", arguments: '{"x"' } },
        { function: { arguments: ":1}" } },
        { id: "b", function: { name: "g", arguments: "{}" } },
      ],
      [
        { id: "a", function: { name: "f", arguments: '{"x":1}' } },
        { id: "b", function: { name: "g", arguments: "{}" } },
      ],
    ],
    [
      "two calls under one index",
      [
        { index: 0, id: "a", function: { name: "f", arguments: "{}" } },
        { index: 0, id: "b", function: { name: "g", arguments: "{}" } },
      ],
      [{ id: "a" }, { id: "b" }],
    ],
    [
      "an id that changes with every piece",
      [
        { index: 0, id: "a", function: { name: "f", arguments: '{"x"' } },
        { index: 0, id: "z", function: { name: "", arguments: ":1}" } },
      ],
      [{ function: { name: "f", arguments: '{"x":1}' } }],
    ],
    [
      "without an id, arguments an object",
      [{ index: 0, function: { name: "f", arguments: { x: 1 } } }],
      [{ id: "call_c1_0_0", function: { arguments: '{"x":1}' } }],
    ],
  ])("%s", (_, pieces, expected) => {
    const stream = feed(reader(), ...pieces.map(call), chunk({}, "stop"), "[DONE]");
    expect(choices(stream)).toMatchObject([{ message: { tool_calls: expected }, finish_reason: "tool_calls" }]);
    expect((choices(stream) as { message: { tool_calls: unknown[] } }[])[0]?.message.tool_calls).toHaveLength(
      (expected as unknown[]).length,
    );
  });
});

test("content parts become text and reasoning", () => {
  const stream = feed(
    reader(),
    chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }),
    chunk({ content: [{ type: "text", text: "a" }] }, "stop"),
  );
  expect(choices(stream)).toMatchObject([{ message: { content: "a", reasoning_content: "hm" } }]);
  expect(stream.state.deltas.map(({ channel, text }) => [channel, text])).toEqual([
    ["reasoning", "hm"],
    ["text", "a"],
  ]);
});

test("an empty finish reason is none", () => {
  const stream = feed(reader(), chunk({ content: "a" }, ""));
  expect(stream.state.finishReason).toBe("");
  expect(written(stream)[0]).toContain('"finish_reason":null');
});

test("a stream without ids and times gets the same ones on every chunk", () => {
  const stream = feed(reader(), '{"choices":[{"delta":{"content":"a"}}]}', '{"choices":[{"delta":{},"finish_reason":"stop"}]}');
  const events = written(stream).map((text) => JSON.parse(text) as JsonObject);
  expect(events).toMatchObject([
    { id: "acme-1700000000000", created: 1_700_000_000, object: "chat.completion.chunk", choices: [{ index: 0 }] },
    { id: "acme-1700000000000", created: 1_700_000_000 },
  ]);
});
