import { GatewayError, type JsonObject } from "@unigate/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BuildInput } from "../define.ts";
import anthropic from "./index.ts";

function inputOf(strict: boolean): BuildInput {
  return {
    json: {},
    body: Buffer.from("{}"),
    model: "asked",
    stream: false,
    clientUsage: false,
    strict,
    settings: {},
    headers: {},
    created: 1_700_000_000,
  };
}

function read(answer: unknown, strict = true) {
  const reply = anthropic.surfaces.chat?.read(Buffer.from(JSON.stringify(answer)), inputOf(strict));
  if (reply === undefined) throw new Error("no chat surface");
  return { ...reply, completion: JSON.parse(reply.body.toString("utf8")) as JsonObject };
}

const said = { type: "text", text: "hi" };
const thought = { type: "thinking", thinking: "hm", signature: "c2ln" };
const call = { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } };
const answer = {
  id: "msg_1",
  model: "claude-x",
  content: [thought, said, call],
  stop_reason: "tool_use",
  usage: { input_tokens: 3, output_tokens: 4 },
};

test("a strict answer holds OpenAI's fields only", () => {
  const reply = read(answer);
  expect(reply.completion).toEqual({
    id: "msg_1",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "claude-x",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "hi",
          refusal: null,
          tool_calls: [{ id: "toolu_1", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
        },
        logprobs: null,
        finish_reason: "tool_calls",
      },
    ],
    usage: expect.objectContaining({ prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }),
  });
  expect(reply).toMatchObject({ model: "claude-x", finishReason: "tool_calls", usage: { input: 3, outputText: 4 } });
});

test("otherwise the blocks come too, fit to be sent back as they are", () => {
  const message = (read(answer, false).completion["choices"] as { message: JsonObject }[])[0]?.message ?? {};
  expect(message["content_blocks"]).toEqual([thought, said]);
  const messages = [{ role: "user", content: "x" }, message, { role: "tool", tool_call_id: "toolu_1", content: "1" }];
  const body = anthropic.surfaces.chat?.build({ ...inputOf(false), json: { messages } }).body;
  expect(JSON.parse(String(body)).messages[1]).toEqual({ role: "assistant", content: [thought, said, call] });
});

const reasons: [string | null, string][] = [
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["refusal", "content_filter"],
  ["brand_new", "stop"],
  [null, "stop"],
];
test.each(reasons)("stop reason %s -> %s", (reason, expected) => {
  expect(read({ ...answer, content: [said], stop_reason: reason }).finishReason).toBe(expected);
});

test("a plain stop with calls is a stop for calls; an answer without text has empty or no content", () => {
  expect(read({ ...answer, stop_reason: "end_turn" }).finishReason).toBe("tool_calls");
  expect(read({ ...answer, content: [call] }).completion).toMatchObject({ choices: [{ message: { content: null } }] });
  expect(read({ ...answer, content: [] }).completion).toMatchObject({ choices: [{ message: { content: "" } }] });
});

test("a refusal says why where it can", () => {
  const refused = { ...answer, content: [], stop_reason: "refusal", stop_details: { explanation: "not that" } };
  expect(read(refused).completion).toMatchObject({ choices: [{ message: { refusal: "not that" }, finish_reason: "content_filter" }] });
});

describe("what is no answer", () => {
  test("nesting without end", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const body = Buffer.from(`{"content":[{"type":"tool_use","id":"t","name":"f","input":{"a":${deep}}}]}`);
    expect(() => anthropic.surfaces.chat?.read(body, inputOf(true))).toThrow(expect.objectContaining({ code: "upstream_invalid" }));
  });

  test.each(["<html>", "{}", "null", "[]", '{"content":1}'])("%s", (body) => {
    const wrong = () => anthropic.surfaces.chat?.read(Buffer.from(body), inputOf(true));
    expect(wrong).toThrow(expect.objectContaining({ code: "upstream_invalid", status: 502 }));
  });

  test("an error with a good status keeps what it stands for", () => {
    const wrong = () => read({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
    expect(wrong).toThrow(GatewayError);
    expect(wrong).toThrow(expect.objectContaining({ status: 529, type: "overloaded_error", message: "anthropic error: Overloaded" }));
  });
});

describe("errors", () => {
  const bodies: [string, JsonObject][] = [
    [
      '{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}',
      { message: "anthropic error: slow", type: "rate_limit_error", code: "rate_limit_error" },
    ],
    ['{"error":{"message":"x"}}', { message: "anthropic error: x", type: "rate_limit_error", code: null }],
    ['{"message":"x"}', { message: "anthropic error: x", type: "rate_limit_error" }],
    ['{"error":"x"}', { message: "anthropic error: x" }],
    ["<html>no</html>", { message: "Invalid response received from anthropic: <html>no</html>", type: "rate_limit_error", code: null }],
    ["", { message: "Invalid response received from anthropic: (empty)" }],
  ];
  test.each(bodies)("%s", (body, expected) => {
    expect(anthropic.readError(429, Buffer.from(body), {})).toMatchObject({ status: 429, param: null, ...expected });
  });

  test("no bytes make it throw, and no text is passed on without bound", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
        (bytes) => {
          expect(anthropic.readError(500, Buffer.from(bytes), {}).status).toBe(500);
        },
      ),
    );
    expect(anthropic.readError(500, Buffer.from("x".repeat(100_000)), {}).message.length).toBeLessThan(1000);
  });
});
