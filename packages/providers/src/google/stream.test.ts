import type { JsonObject } from "@unigate/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StreamInput } from "../define.ts";
import google from "./index.ts";

function readerOf(more: Partial<StreamInput> = {}) {
  const reader = google.surfaces.chat?.stream({
    json: {},
    body: Buffer.from("{}"),
    model: "gemini",
    stream: true,
    clientUsage: false,
    strict: true,
    settings: {},
    headers: {},
    created: 1_700_000_000,
    wantDeltas: true,
    wantAssembled: true,
    ...more,
  });
  if (reader === undefined) throw new Error("no chat surface");
  return reader;
}

function run(events: readonly unknown[], more: Partial<StreamInput> = {}) {
  const reader = readerOf(more);
  for (const event of events) reader.event("", typeof event === "string" ? event : JSON.stringify(event));
  reader.end();
  return reader;
}

interface Choice {
  index: number;
  delta: JsonObject;
  finish_reason: string | null;
  [key: string]: unknown;
}

function choicesOf(text: string): Choice[] {
  const lines = text.split("\n\n").filter((line) => line.startsWith("data: {"));
  return lines.flatMap((line) => (JSON.parse(line.slice("data: ".length)) as { choices: Choice[] }).choices);
}

const answer = (parts: JsonObject[], more: JsonObject = {}, top: JsonObject = {}) => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
  responseId: "resp_1",
  modelVersion: "gemini-x",
  ...top,
});
const stop = { finishReason: "STOP" };

test("text, thoughts and usage: thoughts only outside strict mode, the last usage counts", () => {
  const events = [
    answer([{ text: "hm", thought: true }], {}, { usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } }),
    answer([{ text: "a" }, { text: "b" }], {}, { usageMetadata: { trafficType: "ON_DEMAND" } }),
    answer([{ text: "", thoughtSignature: "c2ln" }], stop, {
      usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 5, thoughtsTokenCount: 6 },
    }),
  ];
  const strict = run(events);
  expect(choicesOf(strict.state.text).map((choice) => choice.delta)).toEqual([
    { role: "assistant", content: "" },
    { content: "a" },
    { content: "b" },
    {},
  ]);
  expect(strict.state).toMatchObject({
    done: true,
    finishReason: "stop",
    model: "gemini-x",
    usage: { input: 4, outputText: 5, reasoning: 6 },
  });

  const loose = run(events, { strict: false });
  expect(loose.assembled()).toMatchObject({
    id: "resp_1",
    choices: [
      {
        message: {
          content: "ab",
          content_blocks: [
            { type: "thinking", thinking: "hm" },
            { type: "text", text: "ab" },
          ],
          extra_content: { google: { thought_signature: "c2ln" } },
        },
      },
    ],
  });
  expect(loose.state.deltas).toContainEqual({ choice: 0, channel: "reasoning", text: "hm" });
});

describe("tool calls", () => {
  test("come whole, numbered, with ids made where there are none; a plain stop is one for calls", () => {
    const events = [
      answer([{ functionCall: { name: "f", args: { a: 1 } }, thoughtSignature: "c2ln" }, { functionCall: { name: "g" } }]),
      answer([{ functionCall: { name: "f", args: {}, id: "own" } }], stop),
    ];
    const reader = run(events);
    expect(choicesOf(reader.state.text).flatMap((choice) => choice.delta["tool_calls"] ?? [])).toEqual([
      {
        index: 0,
        id: "call_resp_1_0",
        type: "function",
        function: { name: "f", arguments: '{"a":1}' },
        extra_content: { google: { thought_signature: "c2ln" } },
      },
      { index: 1, id: "call_resp_1_1", type: "function", function: { name: "g", arguments: "{}" } },
      { index: 2, id: "own", type: "function", function: { name: "f", arguments: "{}" } },
    ]);
    expect(reader.state.finishReason).toBe("tool_calls");
    expect(run(events).state.text).toBe(reader.state.text);
  });

  test("ids are unique and short without a response id too", () => {
    const call = { functionCall: { name: "f", args: {} } };
    const two = { candidates: [0, 1].map((index) => ({ index, content: { parts: [call, call] }, ...stop })) };
    const ids = choicesOf(run([two]).state.text).flatMap((choice) =>
      ((choice.delta["tool_calls"] ?? []) as JsonObject[]).map((made) => String(made["id"])),
    );
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[\w-]{1,40}$/);
  });

  test("streamed arguments are laid together", () => {
    const piece = (jsonPath: string, value: JsonObject, willContinue = true) =>
      answer([{ functionCall: { partialArgs: [{ jsonPath, ...value }], ...(willContinue ? { willContinue } : {}) } }]);
    const reader = run([
      answer([{ functionCall: { name: "f", willContinue: true }, thoughtSignature: "c2ln" }]),
      piece("$.city", { stringValue: "Bos" }),
      piece("$.city", { stringValue: "ton" }),
      piece("$.days[1].n", { numberValue: 2 }),
      piece("$['odd key']", { boolValue: true }),
      piece("$.none", { nullValue: "NULL_VALUE" }),
      piece("$.__proto__.polluted", { boolValue: true }),
      piece("$.days[99999].n", { numberValue: 2 }),
      answer([{ functionCall: {} }]),
      answer([{ functionCall: { name: "g", willContinue: true } }], stop),
    ]);
    const calls = choicesOf(reader.state.text).flatMap(
      (choice) => (choice.delta["tool_calls"] ?? []) as { function: { arguments: string } }[],
    );
    expect(calls.map((call) => JSON.parse(call.function.arguments))).toEqual([
      { city: "Boston", days: [null, { n: 2 }], "odd key": true, none: null },
      {},
    ]);
    expect(calls[0]).toMatchObject({ extra_content: { google: { thought_signature: "c2ln" } } });
    expect({}).not.toHaveProperty("polluted");
  });
});

test("what stands beside the content is told on the choice outside strict mode", () => {
  const grounding = { groundingChunks: [{ web: { uri: "https://x.example" } }] };
  const events = [answer([{ text: "a" }], { groundingMetadata: {} }), answer([{ text: "b" }], { ...stop, groundingMetadata: grounding })];
  expect(choicesOf(run(events, { strict: false }).state.text).at(-1)).toMatchObject({
    finish_reason: "stop",
    groundingMetadata: grounding,
  });
  expect(run(events).state.text).not.toContain("grounding");
});

test("logprobs come with their text", () => {
  const logprobsResult = {
    chosenCandidates: [{ token: "é", logProbability: -0.5 }],
    topCandidates: [{ candidates: [{ token: "é", logProbability: -0.5 }] }],
  };
  const [, choice] = choicesOf(run([answer([{ text: "é" }], { ...stop, logprobsResult })]).state.text);
  const token = { token: "é", logprob: -0.5, bytes: [0xc3, 0xa9] };
  expect(choice?.["logprobs"]).toEqual({ content: [{ ...token, top_logprobs: [token] }] });
});

describe("how streams end", () => {
  test("the close after a finish reason is the end, before it is not", () => {
    expect(run([answer([{ text: "a" }])]).state.done).toBe(false);
    expect(run([answer([{ text: "a" }], stop)]).state.text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(run([]).state.done).toBe(false);
  });

  test("every candidate must have ended", () => {
    const two = (second: JsonObject) => ({
      candidates: [
        { index: 0, content: {}, ...stop },
        { index: 1, content: {}, ...second },
      ],
    });
    expect(run([two({})]).state.done).toBe(false);
    const reader = run([two({}), { candidates: [{ index: 1, finishReason: "MAX_TOKENS" }] }]);
    expect(choicesOf(reader.state.text).flatMap((choice) => choice.finish_reason ?? [])).toEqual(["stop", "length"]);
  });

  test("a blocked prompt is an empty answer", () => {
    const reader = run([{ promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 2 } }]);
    expect(reader.state).toMatchObject({ done: true, content: false, finishReason: "content_filter", usage: { input: 2 } });
    expect(run([answer([{ text: "a" }]), { promptFeedback: { blockReason: 1 } }]).state).toMatchObject({
      done: true,
      finishReason: "content_filter",
    });
  });

  test("a stream that came as one list", () => {
    const reader = run([[answer([{ text: "a" }]), answer([{ text: "b" }], { finishReason: 1 })]]);
    expect(reader.assembled()).toMatchObject({ choices: [{ message: { content: "ab" }, finish_reason: "stop" }] });
  });
});

describe("errors inside the stream", () => {
  const error = { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" };
  test.each([[{ error }], [[{ error }]]])("%j", (event) => {
    const reader = run([answer([{ text: "a" }]), event, answer([{ text: "late" }], stop)]);
    expect(reader.state.failure).toMatchObject({ status: 503, code: "UNAVAILABLE", message: "google error: The model is overloaded." });
    expect(reader.state.done).toBe(false);
    expect(reader.state.text).not.toContain("late");
  });

  test.each(["{", "null", "1", '"x"', "{}", "<html>"])("data that is no answer: %s", (data) => {
    expect(run([data]).state.failure).toMatchObject({ status: 502, code: "upstream_invalid" });
  });

  test("nesting without end", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const reader = run([`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":${deep}}}}]}}]}`]);
    expect(reader.state.failure).toMatchObject({ status: 502 });
  });
});

const part = fc.oneof(
  fc.record(
    {
      text: fc.oneof(fc.string(), fc.jsonValue()),
      thought: fc.oneof(fc.boolean(), fc.jsonValue()),
      thoughtSignature: fc.jsonValue(),
      functionCall: fc.oneof(
        fc.record(
          {
            name: fc.constantFrom("f", ""),
            args: fc.jsonValue(),
            willContinue: fc.boolean(),
            partialArgs: fc.array(
              fc.record({ jsonPath: fc.constantFrom("$.a", "$.a.b", "$.a[0]", "$", "x"), stringValue: fc.jsonValue() }),
            ),
          },
          { requiredKeys: [] },
        ),
        fc.jsonValue(),
      ),
      inlineData: fc.jsonValue(),
    },
    { requiredKeys: [] },
  ),
  fc.jsonValue(),
);
const anyEvent = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      candidates: fc.oneof(
        fc.array(
          fc.record(
            {
              content: fc.oneof(fc.record({ parts: fc.array(part, { maxLength: 3 }) }), fc.jsonValue()),
              index: fc.oneof(fc.nat(2), fc.jsonValue()),
              finishReason: fc.oneof(fc.constantFrom("STOP", "SAFETY", 1, 99), fc.jsonValue()),
              logprobsResult: fc.jsonValue(),
              groundingMetadata: fc.jsonValue(),
            },
            { requiredKeys: [] },
          ),
          { maxLength: 3 },
        ),
        fc.jsonValue(),
      ),
      usageMetadata: fc.jsonValue(),
      promptFeedback: fc.jsonValue(),
      responseId: fc.jsonValue(),
      createTime: fc.jsonValue(),
    },
    { requiredKeys: [] },
  ),
);

test("no events whatever make the reader throw, and what the client gets is always whole events", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 8 }), fc.boolean(), (events, strict) => {
      const reader = run(events, { strict });
      reader.assembled();
      for (const line of reader.state.text.split("\n\n").filter((text) => text !== "")) {
        if (line !== "data: [DONE]") JSON.parse(line.slice("data: ".length));
      }
      expect(reader.state.done && reader.state.failure !== null).toBe(false);
    }),
    { numRuns: 400 },
  );
});
