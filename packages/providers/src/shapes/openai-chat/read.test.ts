import { GatewayError, type JsonObject } from "@unigate/core";
import { describe, expect, test } from "vitest";
import type { BuildInput, SurfaceReply } from "../../define.ts";
import { readAnswer } from "./read.ts";

const INPUT: BuildInput = {
  body: Buffer.from("{}"),
  json: {},
  model: "asked",
  stream: false,
  clientUsage: false,
  strict: true,
  settings: {},
  headers: {},
  created: 1_700_000_000,
};

function answer(message: JsonObject, more: JsonObject = {}, choice: JsonObject = {}): string {
  return JSON.stringify({
    id: "c1",
    object: "chat.completion",
    created: 1,
    model: "m-1",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop", ...choice }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    ...more,
  });
}

function read(text: string): { reply: SurfaceReply; json: JsonObject; same: boolean } {
  const body = Buffer.from(text);
  const reply = readAnswer("acme", body, INPUT, { finish: { eos: "stop", odd: "length" } });
  return { reply, json: JSON.parse(String(reply.body)) as JsonObject, same: reply.body === body };
}

function refusalOf(text: string): unknown {
  try {
    return read(text);
  } catch (reason) {
    return reason;
  }
}

test("an answer that needs no change passes as the same buffer", () => {
  const { reply, same } = read(answer({ content: "hi", x_unknown: 1 }, { citations: ["u"] }));
  expect(same).toBe(true);
  expect(reply).toMatchObject({ model: "m-1", finishReason: "stop", usage: { input: 3, outputText: 2 } });
});

describe("what is put right", () => {
  test.each<[string, string, object]>([
    ["an unknown finish reason", answer({ content: "a" }, {}, { finish_reason: "weird" }), { finish_reason: "stop" }],
    ["a vendor's finish reason", answer({ content: "a" }, {}, { finish_reason: "odd" }), { finish_reason: "length" }],
    ["a usual finish reason", answer({ content: "a" }, {}, { finish_reason: "model_length" }), { finish_reason: "length" }],
    [
      "a stop after tool calls",
      answer({ content: null, tool_calls: [{ id: "t", type: "function", function: { name: "f", arguments: "{}" } }] }),
      { finish_reason: "tool_calls" },
    ],
    [
      "tool calls without id and type, with arguments as an object",
      answer({ tool_calls: [{ function: { name: "f", arguments: { a: 1 } } }] }, {}, { finish_reason: "tool_calls" }),
      { message: { tool_calls: [{ id: "call_c1_0_0", type: "function", function: { name: "f", arguments: '{"a":1}' } }] } },
    ],
    [
      "content parts",
      answer({
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm " }] },
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      }),
      { message: { content: "ab", reasoning_content: "hm " } },
    ],
  ])("%s", (_, text, choice) => {
    expect(read(text).json["choices"]).toMatchObject([choice]);
  });

  test("reasoning that completion_tokens leaves out", () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 12, completion_tokens_details: { reasoning_tokens: 7 }, cost: 1 };
    const { json, reply } = read(answer({ content: "a" }, { usage }));
    expect(json["usage"]).toEqual({ ...usage, completion_tokens: 9 });
    expect(reply.usage).toMatchObject({ outputText: 2, reasoning: 7 });
  });

  test("cached tokens at a vendor's own place", () => {
    const { json } = read(
      answer({ content: "a" }, { usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cached_tokens: 1 } }),
    );
    expect(json["usage"]).toMatchObject({ cached_tokens: 1, prompt_tokens_details: { cached_tokens: 1 } });
  });
});

test("an answer without id and time gets both", () => {
  expect(read(answer({ content: "a" }, { id: undefined, created: undefined })).json).toMatchObject({
    id: "acme-1700000000000",
    created: 1_700_000_000,
  });
});

test("an answer without usage or model", () => {
  expect(read(answer({ content: "a" }, { usage: null, model: undefined })).reply).toMatchObject({ usage: null, model: "asked" });
});

describe("no answer", () => {
  test("nesting without end", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    expect(refusalOf(`{"choices":[],"more":${deep}}`)).toMatchObject({ code: "upstream_invalid", status: 502 });
  });

  test.each(["", "<html></html>", "[]", "null", '"text"', "{}", '{"choices":null}', '{"choices":{}}'])("%s", (text) => {
    expect(refusalOf(text)).toMatchObject({ code: "upstream_invalid", status: 502 });
  });

  test("an error with a good status keeps its words and the status it names", () => {
    const refusal = refusalOf('{"error":{"message":"no credits","code":402}}');
    expect(refusal).toBeInstanceOf(GatewayError);
    expect(refusal).toMatchObject({ code: "upstream_invalid", status: 402, message: "acme error: no credits" });
  });
});
