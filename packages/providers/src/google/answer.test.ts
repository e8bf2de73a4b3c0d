import type { JsonObject } from "@unigate/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BuildInput } from "../define.ts";
import google from "./index.ts";

function inputOf(strict: boolean): BuildInput {
  return {
    json: {},
    body: Buffer.from("{}"),
    model: "gemini-3-pro-preview",
    stream: false,
    clientUsage: false,
    strict,
    settings: {},
    headers: {},
    created: 1_700_000_000,
  };
}

function read(answer: unknown, strict = true) {
  const reply = google.surfaces.chat?.read(Buffer.from(JSON.stringify(answer)), inputOf(strict));
  if (reply === undefined) throw new Error("no chat surface");
  return { ...reply, completion: JSON.parse(reply.body.toString("utf8")) as JsonObject };
}

const parts = [
  { text: "hm", thought: true },
  { text: "so", thoughtSignature: "dGV4dA==" },
  { functionCall: { name: "f", args: { a: 1 } }, thoughtSignature: "c2ln" },
];
const answer = {
  candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0, safetyRatings: [] }],
  responseId: "resp_1",
  modelVersion: "gemini-x",
  createTime: "2026-04-02T17:03:50.399550Z",
  usageMetadata: {
    promptTokenCount: 10,
    cachedContentTokenCount: 4,
    toolUsePromptTokenCount: 3,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 7,
    totalTokenCount: 25,
  },
};

test("a strict answer holds OpenAI's fields only, and the state that a tool loop needs", () => {
  const reply = read(answer);
  expect(reply.completion).toEqual({
    id: "resp_1",
    object: "chat.completion",
    created: 1_775_149_430,
    model: "gemini-x",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "so",
          refusal: null,
          tool_calls: [
            {
              id: "call_resp_1_0",
              type: "function",
              function: { name: "f", arguments: '{"a":1}' },
              extra_content: { google: { thought_signature: "c2ln" } },
            },
          ],
        },
        logprobs: null,
        finish_reason: "tool_calls",
      },
    ],
    usage: {
      prompt_tokens: 13,
      completion_tokens: 12,
      total_tokens: 25,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 7 },
    },
  });
  expect(reply.usage).toMatchObject({ input: 9, cacheRead: 4, outputText: 5, reasoning: 7 });
});

test.each([true, false])("signatures come back to where they were (strict: %s)", (strict) => {
  const message = (read(answer, strict).completion["choices"] as { message: JsonObject }[])[0]?.message ?? {};
  const messages = [{ role: "user", content: "x" }, message, { role: "tool", tool_call_id: "call_resp_1_0", content: '{"b":2}' }];
  const built = google.surfaces.chat?.build({ ...inputOf(strict), json: { messages } }).body;
  const contents = JSON.parse(String(built)).contents as JsonObject[];
  expect(contents.slice(1)).toEqual([
    {
      role: "model",
      parts: [
        strict ? { text: "so" } : { text: "so", thoughtSignature: "dGV4dA==" },
        { functionCall: { name: "f", args: { a: 1 }, id: "call_resp_1_0" }, thoughtSignature: "c2ln" },
      ],
    },
    { role: "user", parts: [{ functionResponse: { name: "f", response: { b: 2 }, id: "call_resp_1_0" } }] },
  ]);
});

test("the signature of a plain text comes back outside strict mode", () => {
  const spoken = { ...answer, candidates: [{ content: { parts: parts.slice(1, 2) }, finishReason: "STOP" }] };
  const message = (read(spoken, false).completion["choices"] as { message: JsonObject }[])[0]?.message ?? {};
  const built = google.surfaces.chat?.build({ ...inputOf(false), json: { messages: [{ role: "user", content: "x" }, message] } }).body;
  expect(JSON.parse(String(built)).contents[1].parts).toEqual([{ text: "so", thoughtSignature: "dGV4dA==" }]);
});

test("pictures come as content blocks outside strict mode", () => {
  const picture = { inlineData: { mimeType: "image/png", data: "AAAA" } };
  const drawn = { ...answer, candidates: [{ content: { parts: [{ text: "see" }, picture, picture] }, finishReason: "STOP" }] };
  const block = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  expect(read(drawn, false).completion).toMatchObject({
    choices: [{ message: { content_blocks: [{ type: "text", text: "see" }, block, block] } }],
  });
});

test("tokens of sound and pictures are counted apart", () => {
  const usageMetadata = {
    promptTokenCount: 100,
    cachedContentTokenCount: 30,
    candidatesTokenCount: 50,
    promptTokensDetails: [
      { modality: "TEXT", tokenCount: 40 },
      { modality: "AUDIO", tokenCount: 60 },
    ],
    cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 10 }],
    candidatesTokensDetails: [
      { modality: "IMAGE", tokenCount: 20 },
      { modality: "AUDIO", tokenCount: 5 },
    ],
  };
  expect(read({ ...answer, usageMetadata }).usage).toMatchObject({
    input: 20,
    cacheRead: 30,
    audioIn: 50,
    outputText: 25,
    image: 20,
    audioOut: 5,
  });
});

const reasons: [unknown, string][] = [
  ["STOP", "stop"],
  [1, "stop"],
  ["MAX_TOKENS", "length"],
  [2, "length"],
  ["SAFETY", "content_filter"],
  [3, "content_filter"],
  ["RECITATION", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["MODEL_ARMOR", "content_filter"],
  ["MALFORMED_FUNCTION_CALL", "stop"],
  ["LANGUAGE", "stop"],
  ["OTHER", "stop"],
  [undefined, "stop"],
];
test.each(reasons)("finish reason %s -> %s", (finishReason, expected) => {
  expect(read({ candidates: [{ content: { parts: [{ text: "a" }] }, finishReason }] }).finishReason).toBe(expected);
});

test("several candidates are several choices, and their calls have different ids", () => {
  const call = { content: { parts: [{ functionCall: { name: "f" } }] }, finishReason: "STOP" };
  const choices = read({ candidates: [call, { ...call, index: 1 }], responseId: "r" }).completion["choices"] as {
    index: number;
    message: JsonObject;
  }[];
  expect(choices.map((choice) => choice.index)).toEqual([0, 1]);
  expect(choices.map((choice) => (choice.message["tool_calls"] as JsonObject[])[0]?.["id"])).toEqual(["call_r_0", "call_r_1_0"]);
});

test("a blocked prompt is an empty answer, filtered", () => {
  const reply = read({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 5 } });
  expect(reply.completion).toMatchObject({
    choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "content_filter" }],
  });
  expect(reply.usage).toMatchObject({ input: 5 });
});

describe("what is no answer", () => {
  test("nesting without end", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const body = Buffer.from(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":${deep}}}}]}}]}`);
    expect(() => google.surfaces.chat?.read(body, inputOf(true))).toThrow(expect.objectContaining({ code: "upstream_invalid" }));
  });

  test.each(["<html>", "{}", "null", "[]", '{"candidates":1}'])("%s", (body) => {
    const wrong = () => google.surfaces.chat?.read(Buffer.from(body), inputOf(true));
    expect(wrong).toThrow(expect.objectContaining({ code: "upstream_invalid", status: 502 }));
  });

  test("an error with a good status keeps its own", () => {
    const wrong = () => read([{ error: { code: 429, message: "slow", status: "RESOURCE_EXHAUSTED" } }]);
    expect(wrong).toThrow(expect.objectContaining({ code: "upstream_invalid", status: 429, type: "rate_limit_error" }));
  });
});

describe("errors", () => {
  const error = { code: 400, message: "no", status: "INVALID_ARGUMENT" };
  const badKey = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" };
  const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" };
  const field = { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field: "contents[0]", description: "d" }] };
  const bodies: [string, unknown, JsonObject][] = [
    ["plain", { error }, { message: "google error: no", type: "invalid_request_error", code: "INVALID_ARGUMENT", param: null }],
    ["in a list", [{ error }], { message: "google error: no", code: "INVALID_ARGUMENT" }],
    ["a bad key", { error: { ...error, details: [badKey] } }, { type: "authentication_error", status: 400 }],
    ["a wait", { error: { ...error, details: [retry] } }, { retryAfterMs: 34_400 }],
    ["a field", { error: { ...error, details: [field] } }, { param: "contents[0]" }],
    ["a text", { error: "no" }, { message: "google error: no", code: null }],
  ];
  test.each(bodies)("%s", (_name, body, expected) => {
    expect(google.readError(400, Buffer.from(JSON.stringify(body)), {})).toMatchObject({ status: 400, ...expected });
  });

  test("a page instead of JSON", () => {
    const page = Buffer.from("<!DOCTYPE html>\n<title>Error 404 (Not Found)!!1</title>");
    expect(google.readError(404, page, {})).toMatchObject({
      status: 404,
      type: "not_found_error",
      message: expect.stringContaining("Invalid response received from google: <!DOCTYPE"),
    });
  });

  test("no bytes make it throw", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
          fc.jsonValue().map((error) => Buffer.from(JSON.stringify({ error }))),
        ),
        (bytes) => {
          expect(google.readError(500, Buffer.from(bytes), {}).status).toBe(500);
        },
      ),
    );
  });
});
