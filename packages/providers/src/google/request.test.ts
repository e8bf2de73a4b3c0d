import { GatewayError, type JsonObject } from "@unigate/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BuildInput } from "../define.ts";
import google from "./index.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function build(json: JsonObject, more: Partial<BuildInput> = {}) {
  const model = typeof json["model"] === "string" ? json["model"] : "gemini-2.5-flash";
  const request = google.surfaces.chat?.build({
    json,
    body: Buffer.from(JSON.stringify(json)),
    model,
    stream: json["stream"] === true,
    clientUsage: false,
    strict: true,
    settings: {},
    headers: {},
    created: 1_700_000_000,
    ...more,
  });
  if (request === undefined) throw new Error("no chat surface");
  return request;
}

/** The upstream body of a request with these fields; messages default to a greeting. */
function bodyOf(fields: JsonObject, more: Partial<BuildInput> = {}): JsonObject {
  return JSON.parse(String(build({ messages: [{ role: "user", content: "hello" }], ...fields }, more).body)) as JsonObject;
}

function contentsOf(messages: JsonObject[], model = "gemini-2.5-flash"): { role: string; parts: JsonObject[] }[] {
  return bodyOf({ model, messages })["contents"] as { role: string; parts: JsonObject[] }[];
}

describe("where the request goes", () => {
  const paths: [string, boolean, string][] = [
    ["gemini-2.5-flash", false, "/models/gemini-2.5-flash:generateContent"],
    ["gemini-2.5-flash", true, "/models/gemini-2.5-flash:streamGenerateContent?alt=sse"],
    ["models/gemini-2.5-flash", false, "/models/gemini-2.5-flash:generateContent"],
    ["tunedModels/mine", false, "/tunedModels/mine:generateContent"],
  ];
  test.each(paths)("%s, stream %s", (model, stream, path) => {
    expect(build({ messages: [] }, { model, stream })).toMatchObject({ method: "POST", path });
  });

  test.each(["..", "models/../files", "a b", "x:countTokens", "x?alt=json", "x#", "", "%2e%2e", "/models/x"])(
    "model %j is refused",
    (model) => {
      expect(() => build({ messages: [] }, { model })).toThrow(expect.objectContaining({ status: 400, param: "model" }));
    },
  );

  test("the key goes into a header, never into the address", () => {
    expect(google.auth.fields).toEqual(["api_key"]);
    expect(build({ messages: [] }).path).not.toContain("key");
  });
});

describe("generation config", () => {
  const schema = { type: "object", properties: {}, additionalProperties: false };
  const cases: [string, JsonObject, JsonObject][] = [
    ["max_tokens", { max_tokens: 7 }, { maxOutputTokens: 7 }],
    ["max_completion_tokens wins", { max_tokens: 7, max_completion_tokens: 9 }, { maxOutputTokens: 9 }],
    ["sampling", { temperature: 0, top_p: 0.9, top_k: 4, seed: 1 }, { temperature: 0, topP: 0.9, topK: 4, seed: 1 }],
    ["penalties", { presence_penalty: 1, frequency_penalty: -1 }, { presencePenalty: 1, frequencyPenalty: -1 }],
    ["n", { n: 3 }, { candidateCount: 3 }],
    ["stop text", { stop: "END" }, { stopSequences: ["END"] }],
    ["stop list", { stop: ["a", "b"] }, { stopSequences: ["a", "b"] }],
    ["logprobs", { logprobs: true, top_logprobs: 2 }, { responseLogprobs: true, logprobs: 2 }],
    ["JSON mode", { response_format: { type: "json_object" } }, { responseMimeType: "application/json" }],
    [
      "JSON schema",
      { response_format: { type: "json_schema", json_schema: { name: "n", schema: { $schema: "x", ...schema } } } },
      { responseMimeType: "application/json", responseJsonSchema: schema },
    ],
    ["modalities", { modalities: ["text", "audio"] }, { responseModalities: ["TEXT", "AUDIO"] }],
    [
      "own settings at the top",
      { response_modalities: ["IMAGE"], speechConfig: { a: 1 } },
      { responseModalities: ["IMAGE"], speechConfig: { a: 1 } },
    ],
    ["own config, which wins", { temperature: 1, generation_config: { temperature: 0.5, topK: 2 } }, { temperature: 0.5, topK: 2 }],
    [
      "extra_body of Google's surface",
      { extra_body: { google: { thinking_config: { thinkingBudget: 3 } } } },
      { thinkingConfig: { thinkingBudget: 3 } },
    ],
  ];
  test.each(cases)("%s", (_name, fields, expected) => {
    expect(bodyOf(fields)["generationConfig"]).toEqual(expected);
  });

  test("OpenAI's own fields, nulls and defaults leave nothing behind", () => {
    const body = bodyOf({
      n: 1,
      logit_bias: {},
      user: "u",
      stream_options: {},
      store: true,
      metadata: {},
      parallel_tool_calls: true,
      logprobs: false,
      top_logprobs: 0,
      stop: null,
      tool_choice: "auto",
      service_tier: "auto",
      foo: null,
      response_format: { type: "text" },
    });
    expect(Object.keys(body)).toEqual(["contents"]);
  });
});

describe("thinking", () => {
  const cases: [string, JsonObject, boolean, unknown][] = [
    ["gemini-2.5-flash", { reasoning_effort: "low" }, true, { thinkingBudget: 1024 }],
    ["gemini-2.5-flash", { reasoning_effort: "medium" }, false, { thinkingBudget: 8192, includeThoughts: true }],
    ["gemini-2.5-flash", { reasoning_effort: "none" }, false, { thinkingBudget: 0 }],
    ["gemini-2.5-pro", { reasoning_effort: "none" }, true, { thinkingBudget: 128 }],
    ["gemini-3.5-flash", { reasoning_effort: "minimal" }, true, { thinkingLevel: "MINIMAL" }],
    ["gemini-3-pro-preview", { reasoning_effort: "minimal" }, true, { thinkingLevel: "LOW" }],
    ["gemini-3-pro-preview", { reasoning_effort: "medium" }, true, { thinkingLevel: "HIGH" }],
    ["gemini-3.1-pro-preview", { reasoning_effort: "medium" }, true, { thinkingLevel: "MEDIUM" }],
    ["gemini-flash-latest", { reasoning_effort: "xhigh" }, true, { thinkingLevel: "HIGH" }],
    ["gemini-2.0-flash", { reasoning_effort: "high" }, true, undefined],
    ["gemini-2.5-flash", { thinking: { type: "enabled", budget_tokens: 2000 } }, true, { thinkingBudget: 2000, includeThoughts: true }],
    ["gemini-2.5-flash", { thinking: { type: "disabled" } }, true, { thinkingBudget: 0 }],
    ["gemini-3-flash-preview", { thinking: { type: "disabled" } }, true, { thinkingLevel: "MINIMAL" }],
    ["gemini-2.5-flash", { thinking: { type: "adaptive" } }, true, { thinkingBudget: -1, includeThoughts: true }],
    ["gemini-3-flash-preview", { thinking: { type: "adaptive" } }, true, { includeThoughts: true }],
  ];
  test.each(cases)("%s %j, strict %s", (model, fields, strict, expected) => {
    const config = bodyOf({ model, ...fields }, { strict })["generationConfig"] as JsonObject | undefined;
    expect(config?.["thinkingConfig"]).toEqual(expected);
  });
});

describe("Google's own fields", () => {
  test("pass, known ones in one spelling", () => {
    const safety = [{ category: "HARM_CATEGORY_HATE_SPEECH", threshold: "BLOCK_NONE" }];
    expect(bodyOf({ safety_settings: safety, cached_content: "cachedContents/1", labels: { a: "b" }, brandNew: 1 })).toMatchObject({
      safetySettings: safety,
      cachedContent: "cachedContents/1",
      labels: { a: "b" },
      brandNew: 1,
    });
  });

  test("a system instruction of its own stands first", () => {
    const body = bodyOf({ system_instruction: { parts: [{ text: "own" }] }, messages: [{ role: "developer", content: "two" }] });
    expect(body["systemInstruction"]).toEqual({ parts: [{ text: "own" }, { text: "two" }] });
  });
});

describe("contents", () => {
  const call = (id: string, args: string, more: JsonObject = {}) => ({
    id,
    type: "function",
    function: { name: "dice", arguments: args },
    ...more,
  });

  test("system messages apart, neighbours together, empty ones left out", () => {
    const body = bodyOf({
      messages: [
        { role: "system", content: "one" },
        { role: "user", content: "a" },
        {
          role: "user",
          content: [
            { type: "text", text: "b" },
            { type: "text", text: "" },
          ],
        },
        { role: "assistant", content: "" },
        { role: "developer", content: [{ type: "text", text: "two" }] },
        { role: "user", content: "c" },
      ],
    });
    expect(body["systemInstruction"]).toEqual({ parts: [{ text: "one" }, { text: "two" }] });
    expect(body["contents"]).toEqual([{ role: "user", parts: [{ text: "a" }, { text: "b" }, { text: "c" }] }]);
  });

  test("calls and responses: names looked up, responses made objects and put first", () => {
    expect(
      contentsOf([
        { role: "user", content: "roll" },
        { role: "assistant", content: null, tool_calls: [call("a", '{"n":1}'), call("b", "[1]"), call("c", "")] },
        { role: "tool", tool_call_id: "a", content: "4" },
        { role: "user", content: "and?" },
        { role: "tool", tool_call_id: "b", content: '{"sum":9}' },
        { role: "tool", tool_call_id: "unknown", name: "other", content: [{ type: "text", text: "text" }] },
      ]),
    ).toEqual([
      { role: "user", parts: [{ text: "roll" }] },
      {
        role: "model",
        parts: [
          { functionCall: { name: "dice", args: { n: 1 }, id: "a" } },
          { functionCall: { name: "dice", args: { arguments: "[1]" }, id: "b" } },
          { functionCall: { name: "dice", args: {}, id: "c" } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "dice", response: { result: "4" }, id: "a" } },
          { functionResponse: { name: "dice", response: { sum: 9 }, id: "b" } },
          { functionResponse: { name: "other", response: { result: "text" }, id: "unknown" } },
          { text: "and?" },
        ],
      },
    ]);
  });

  test("a signature goes back beside its call; the later generation gets a stand-in where there is none", () => {
    const signed = call("a", "{}", { extra_content: { google: { thought_signature: "c2ln" } } });
    const history = (first: JsonObject) => [
      { role: "user", content: "x" },
      { role: "assistant", content: "so", tool_calls: [first, call("b", "{}")] },
    ];
    const signatures = (first: JsonObject, model: string) =>
      contentsOf(history(first), model)[1]?.parts.map((part) => part["thoughtSignature"]);
    expect(signatures(signed, "gemini-3-pro-preview")).toEqual([undefined, "c2ln", undefined]);
    expect(signatures(signed, "gemini-2.5-flash")).toEqual([undefined, "c2ln", undefined]);
    const [, stand] = signatures(call("a", "{}"), "gemini-3-pro-preview") ?? [];
    expect(Buffer.from(String(stand), "base64").toString()).toBe("context_engineering_is_the_way_to_go");
    expect(signatures(call("a", "{}"), "gemini-2.5-flash")).toEqual([undefined, undefined, undefined]);
  });

  test("a signature on the message belongs to its first call, else to its text", () => {
    const extra_content = { google: { thought_signature: "c2ln" } };
    const [, called] = contentsOf([
      { role: "user", content: "x" },
      { role: "assistant", content: "so", extra_content, tool_calls: [call("a", "{}")] },
    ]);
    expect(called?.parts[1]?.["thoughtSignature"]).toBe("c2ln");
    const [, spoken] = contentsOf([
      { role: "user", content: "x" },
      { role: "assistant", content: "so", extra_content },
    ]);
    expect(spoken?.parts).toEqual([{ text: "so", thoughtSignature: "c2ln" }]);
  });

  test("media of a tool: inside the response, or behind it for models that take none there", () => {
    const messages = [
      { role: "user", content: "x" },
      { role: "assistant", tool_calls: [call("a", "{}")] },
      {
        role: "tool",
        tool_call_id: "a",
        content: [
          { type: "text", text: "see" },
          { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
        ],
      },
    ];
    const image = { inlineData: { mimeType: "image/png", data: PNG } };
    const response = { name: "dice", response: { result: "see" }, id: "a" };
    expect(contentsOf(messages, "gemini-2.5-flash")[2]?.parts).toEqual([{ functionResponse: response }, image]);
    expect(contentsOf(messages, "gemini-3-flash-preview")[2]?.parts).toEqual([{ functionResponse: { ...response, parts: [image] } }]);
  });

  const files = "https://generativelanguage.googleapis.com/v1beta/files/";
  const parts: [string, JsonObject, JsonObject][] = [
    [
      "image as data URL",
      { type: "image_url", image_url: `data:image/png;base64,${PNG}` },
      { inlineData: { mimeType: "image/png", data: PNG } },
    ],
    [
      "image by address",
      { type: "image_url", image_url: { url: "https://x.example/a.webp?b=1" } },
      { fileData: { mimeType: "image/webp", fileUri: "https://x.example/a.webp?b=1" } },
    ],
    [
      "image by address, unknown type",
      { type: "image_url", image_url: { url: "https://x.example/a" } },
      { fileData: { mimeType: "image/jpeg", fileUri: "https://x.example/a" } },
    ],
    ["uploaded image", { type: "image_url", image_url: { url: `${files}a` } }, { fileData: { fileUri: `${files}a` } }],
    [
      "audio",
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
      { inlineData: { mimeType: "audio/wav", data: "AAAA" } },
    ],
    [
      "PDF",
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
      { inlineData: { mimeType: "application/pdf", data: "AAAA" } },
    ],
    ["bare PDF bytes", { type: "file", file: { file_data: "AAAA" } }, { inlineData: { mimeType: "application/pdf", data: "AAAA" } }],
    ["uploaded file", { type: "file", file: { file_id: "files/a" } }, { fileData: { fileUri: `${files}a` } }],
    [
      "file in storage",
      { type: "file", file: { file_url: "gs://b/a.mp4" } },
      { fileData: { mimeType: "video/mp4", fileUri: "gs://b/a.mp4" } },
    ],
    [
      "Google's own part",
      { fileData: { fileUri: "x" }, videoMetadata: { fps: 1 } },
      { fileData: { fileUri: "x" }, videoMetadata: { fps: 1 } },
    ],
  ];
  test.each(parts)("%s", (_name, part, expected) => {
    expect(contentsOf([{ role: "user", content: [part] }])).toEqual([{ role: "user", parts: [expected] }]);
  });
});

describe("tools", () => {
  const schema = {
    type: "object",
    properties: { a: { $ref: "#/$defs/x" } },
    $defs: { x: { type: "string" } },
    additionalProperties: false,
  };
  const f = { type: "function", function: { name: "f", description: "d", parameters: { $schema: "x", ...schema }, strict: true } };

  test("functions in one tool, Google's own beside it", () => {
    const tools = [
      f,
      { google_search: {} },
      { type: "code_execution" },
      { type: "function", function: { name: "url_context" } },
      { type: "function", function: { name: "g" } },
    ];
    expect(bodyOf({ tools })["tools"]).toEqual([
      { google_search: {} },
      { code_execution: {} },
      { url_context: {} },
      { functionDeclarations: [{ name: "f", description: "d", parametersJsonSchema: schema }, { name: "g" }] },
    ]);
  });

  const choices: [string, JsonObject, unknown][] = [
    ["auto", { tool_choice: "auto" }, { functionCallingConfig: { mode: "AUTO" } }],
    ["none", { tool_choice: "none" }, { functionCallingConfig: { mode: "NONE" } }],
    ["required", { tool_choice: "required" }, { functionCallingConfig: { mode: "ANY" } }],
    [
      "named",
      { tool_choice: { type: "function", function: { name: "f" } } },
      { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
    ],
    ["older name", { function_call: { name: "f" } }, { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } }],
    [
      "allowed tools",
      {
        tool_choice: { type: "allowed_tools", allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "f" } }] } },
      },
      { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
    ],
    [
      "own config beside it",
      { tool_choice: "auto", tool_config: { includeServerSideToolInvocations: true } },
      { functionCallingConfig: { mode: "AUTO" }, includeServerSideToolInvocations: true },
    ],
    ["nothing said", {}, undefined],
  ];
  test.each(choices)("choice: %s", (_name, fields, expected) => {
    expect(bodyOf({ tools: [f], ...fields })["toolConfig"]).toEqual(expected);
  });

  test("no choice without functions", () => {
    expect(bodyOf({ tools: [{ google_search: {} }], tool_choice: "auto" })["toolConfig"]).toBeUndefined();
  });
});

const call = fc.record({
  id: fc.constantFrom("call_1", "call_2", ""),
  type: fc.constant("function"),
  function: fc.record({ name: fc.constantFrom("f", "g"), arguments: fc.oneof(fc.json({ maxDepth: 2 }), fc.string({ maxLength: 8 })) }),
});
const content = fc.oneof(
  fc.constantFrom("", "hello"),
  fc.constant(null),
  fc.array(fc.record({ type: fc.constant("text"), text: fc.string({ maxLength: 5 }) }), { maxLength: 3 }),
);
const message = fc.oneof(
  fc.record({ role: fc.constantFrom("system", "developer", "user"), content }),
  fc.record(
    { role: fc.constant("assistant"), content, tool_calls: fc.array(call, { maxLength: 3 }) },
    { requiredKeys: ["role", "content"] },
  ),
  fc.record({ role: fc.constantFrom("tool", "function"), tool_call_id: fc.constantFrom("call_1", "call_2"), content }),
);

test("any messages give contents that the API takes: user first, roles alternating, nothing empty, objects as arguments and responses", () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), fc.constantFrom("gemini-2.5-flash", "gemini-3-pro-preview"), (messages, model) => {
      const contents = contentsOf(messages, model);
      expect(contents.map((turn) => turn.role)).toEqual(contents.map((_, index) => (index % 2 === 0 ? "user" : "model")));
      for (const { role, parts } of contents) {
        expect(parts.length).toBeGreaterThan(0);
        for (const part of parts) {
          expect(part["text"]).not.toBe("");
          const held =
            (part["functionCall"] as JsonObject | undefined)?.["args"] ??
            (part["functionResponse"] as JsonObject | undefined)?.["response"] ??
            {};
          expect(Array.isArray(held) || typeof held !== "object").toBe(false);
        }
        const first = parts.find((part) => part["functionCall"] !== undefined);
        if (role === "model" && first !== undefined && model.startsWith("gemini-3")) expect(first["thoughtSignature"]).toBeTypeOf("string");
      }
    }),
    { numRuns: 300 },
  );
});

test("any JSON as fields builds or is refused with a reason, and never changes", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 3 }), (messages, tools) => {
      const json = {
        messages,
        tools,
        tool_choice: tools,
        response_format: messages,
        stop: tools,
        thinking: messages,
        extra_body: { google: tools },
      };
      const before = JSON.stringify(json);
      try {
        build(json);
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
      }
      expect(JSON.stringify(json)).toBe(before);
    }),
  );
});
