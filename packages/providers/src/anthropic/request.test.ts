import { GatewayError, type JsonObject } from "@unigate/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BuildInput } from "../define.ts";
import anthropic from "./index.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function inputOf(json: JsonObject, more: Partial<BuildInput> = {}): BuildInput {
  const model = typeof json["model"] === "string" ? json["model"] : "claude-haiku-4-5";
  return {
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
  };
}

function build(json: JsonObject, more: Partial<BuildInput> = {}) {
  const request = anthropic.surfaces.chat?.build(inputOf(json, more));
  if (request === undefined) throw new Error("no chat surface");
  return request;
}

/** The upstream body of a request with these fields; messages default to a greeting. */
function bodyOf(fields: JsonObject): JsonObject {
  const body = build({ messages: [{ role: "user", content: "hello" }], ...fields }).body;
  return JSON.parse(String(body)) as JsonObject;
}

function messagesOf(...messages: JsonObject[]): unknown {
  return bodyOf({ messages })["messages"];
}

function text(said: string, more: JsonObject = {}): JsonObject {
  return { type: "text", text: said, ...more };
}

describe("where the request goes", () => {
  test("path, headers and model", () => {
    const request = build({ model: "@slug/claude", messages: [] }, { model: "claude" });
    expect(request).toMatchObject({ method: "POST", path: "/messages", headers: { "anthropic-version": "2023-06-01" } });
    expect(request.headers["anthropic-beta"]).toBeUndefined();
    expect(JSON.parse(String(request.body))).toMatchObject({ model: "claude", max_tokens: 4096 });
  });

  test("betas of header and body are joined; a body text that no header may hold is left out", () => {
    const headers = { "anthropic-beta": "a-1", "anthropic-version": "2024-01-01" };
    const request = build({ messages: [], anthropic_beta: ["b-2", "c\r\nx: y"] }, { headers });
    expect(request.headers).toMatchObject({ "anthropic-beta": "a-1,b-2", "anthropic-version": "2024-01-01" });
    expect(JSON.parse(String(request.body))).not.toHaveProperty("anthropic_beta");
  });

  test("the key goes into x-api-key", () => {
    expect(anthropic.auth.fields).toEqual(["api_key"]);
  });
});

describe("fields", () => {
  const cases: [string, JsonObject, JsonObject][] = [
    ["max_tokens", { max_tokens: 7 }, { max_tokens: 7 }],
    ["max_completion_tokens wins", { max_tokens: 7, max_completion_tokens: 9 }, { max_tokens: 9 }],
    ["sampling", { temperature: 0.2, top_p: 0.9, top_k: 40 }, { temperature: 0.2, top_p: 0.9, top_k: 40 }],
    ["temperature 0", { temperature: 0 }, { temperature: 0 }],
    ["stop text", { stop: "END" }, { stop_sequences: ["END"] }],
    ["stop list", { stop: ["a", "b"] }, { stop_sequences: ["a", "b"] }],
    ["user", { user: "u-1" }, { metadata: { user_id: "u-1" } }],
    ["Anthropic's metadata", { metadata: { user_id: "u-2", other: "x" } }, { metadata: { user_id: "u-2" } }],
    ["stream", { stream: true }, { stream: true }],
    ["service tier of Anthropic", { service_tier: "standard_only" }, { service_tier: "standard_only" }],
    ["own fields", { mcp_servers: [{ name: "m" }], container: "c" }, { mcp_servers: [{ name: "m" }], container: "c" }],
    ["context management", { context_management: { edits: [] } }, { context_management: { edits: [] } }],
    ["a field newer than this code", { brand_new: 1 }, { brand_new: 1 }],
    [
      "thinking",
      { thinking: { type: "enabled", budget_tokens: 1024 } },
      { thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 5120 },
    ],
    ["own output_config", { output_config: { effort: "max" } }, { output_config: { effort: "max" } }],
  ];
  test.each(cases)("%s", (_name, fields, expected) => {
    expect(bodyOf(fields)).toMatchObject(expected);
  });

  test("OpenAI's own fields and nulls are dropped", () => {
    const body = bodyOf({
      n: 2,
      seed: 1,
      logprobs: true,
      top_logprobs: 3,
      logit_bias: { a: 1 },
      presence_penalty: 1,
      frequency_penalty: 1,
      stream_options: { include_usage: true },
      store: true,
      metadata: { a: "b" },
      service_tier: "flex",
      stop: null,
      temperature: null,
      parallel_tool_calls: false,
      prediction: {},
      modalities: ["text"],
      tool_choice: "auto",
      user: null,
      foo: null,
    });
    expect(Object.keys(body).sort()).toEqual(["max_tokens", "messages", "model"]);
  });

  test("a key __proto__ does no harm", () => {
    const json = JSON.parse('{"messages":[],"__proto__":{"polluted":true}}') as JsonObject;
    expect(String(build(json).body)).not.toContain("polluted");
  });
});

describe("system prompt", () => {
  test("system and developer messages are joined in order, wherever they stand, with their cache marks", () => {
    const cache = { type: "ephemeral" };
    const body = bodyOf({
      messages: [
        { role: "system", content: "one" },
        { role: "user", content: "hi" },
        { role: "developer", content: [{ type: "text", text: "two", cache_control: cache }] },
        { role: "system", content: "three", cache_control: cache },
      ],
    });
    expect(body["system"]).toEqual([text("one"), text("two", { cache_control: cache }), text("three", { cache_control: cache })]);
    expect(body["messages"]).toEqual([{ role: "user", content: [text("hi")] }]);
  });

  test("a system prompt in Anthropic's spelling stands first", () => {
    expect(bodyOf({ system: "own", messages: [{ role: "system", content: "two" }] })["system"]).toEqual([text("own"), text("two")]);
  });

  test("JSON mode is asked for in words", () => {
    const body = bodyOf({ response_format: { type: "json_object" } });
    expect(JSON.stringify(body["system"])).toContain("JSON object");
    expect(body).not.toHaveProperty("output_config");
  });
});

describe("turns", () => {
  test("neighbours become one turn, empty messages go", () => {
    expect(
      messagesOf(
        { role: "user", content: "a" },
        { role: "user", content: "" },
        { role: "user", content: [{ type: "text", text: "b" }] },
        { role: "assistant", content: "c" },
        { role: "assistant", content: null },
        { role: "user", content: "  " },
        { role: "user", content: "d" },
      ),
    ).toEqual([
      { role: "user", content: [text("a"), text("b")] },
      { role: "assistant", content: [text("c")] },
      { role: "user", content: [text("d")] },
    ]);
  });

  test("a conversation that begins with the assistant gets a user turn, and its prefill no trailing space", () => {
    const turns = messagesOf({ role: "assistant", content: "The answer is " }) as JsonObject[];
    expect(turns.map((turn) => turn["role"])).toEqual(["user", "assistant"]);
    expect(turns[1]?.["content"]).toEqual([text("The answer is")]);
  });

  test("all results of a turn come in one message, before what the user adds", () => {
    const call = (id: string, args: string) => ({ id, type: "function", function: { name: "dice", arguments: args } });
    expect(
      messagesOf(
        { role: "user", content: "roll" },
        { role: "assistant", content: "ok", tool_calls: [call("toolu_1", '{"n":1}'), call("toolu_2", "")] },
        { role: "tool", tool_call_id: "toolu_1", content: "4" },
        { role: "user", content: "and?" },
        { role: "tool", tool_call_id: "toolu_2", content: [{ type: "text", text: "5" }], is_error: true },
      ),
    ).toEqual([
      { role: "user", content: [text("roll")] },
      {
        role: "assistant",
        content: [
          text("ok"),
          { type: "tool_use", id: "toolu_1", name: "dice", input: { n: 1 } },
          { type: "tool_use", id: "toolu_2", name: "dice", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: [text("4")] },
          { type: "tool_result", tool_use_id: "toolu_2", content: [text("5")], is_error: true },
          text("and?"),
        ],
      },
    ]);
  });

  test("arguments that are no JSON object, and an id with other characters", () => {
    const turns = messagesOf(
      { role: "user", content: "x" },
      { role: "assistant", tool_calls: [{ id: "call:1/é", function: { name: "f", arguments: "{broken" } }] },
      { role: "tool", tool_call_id: "call:1/é", content: "" },
    ) as JsonObject[];
    expect(turns[1]?.["content"]).toEqual([{ type: "tool_use", id: "call_1__", name: "f", input: { arguments: "{broken" } }]);
    expect(turns[2]?.["content"]).toEqual([{ type: "tool_result", tool_use_id: "call_1__" }]);
  });

  test("the older function_call and its result belong together", () => {
    const turns = messagesOf(
      { role: "user", content: "x" },
      { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
      { role: "function", name: "f", content: "1" },
    ) as { content: JsonObject[] }[];
    expect(turns[1]?.content[0]?.["id"]).toBe(turns[2]?.content[0]?.["tool_use_id"]);
  });

  test("thoughts come back unchanged and first; foreign ones without signature are left out", () => {
    const thought = { type: "thinking", thinking: "hm", signature: "c2ln" };
    const redacted = { type: "redacted_thinking", data: "eA==" };
    const call = { id: "toolu_1", type: "function", function: { name: "f", arguments: "{}" } };
    const blocks = [thought, redacted, { type: "thinking", thinking: "of another provider" }, { type: "image_url", image_url: {} }];
    const turns = messagesOf(
      { role: "user", content: "x" },
      { role: "assistant", content: "so", content_blocks: blocks, tool_calls: [call] },
      { role: "assistant", content: "ignored", content_blocks: [text("kept")] },
    ) as JsonObject[];
    expect(turns[1]?.["content"]).toEqual([
      thought,
      redacted,
      text("so"),
      { type: "tool_use", id: "toolu_1", name: "f", input: {} },
      text("kept"),
    ]);
  });
});

describe("content", () => {
  const cache = { type: "ephemeral", ttl: "1h" };
  const cases: [string, JsonObject, JsonObject][] = [
    [
      "image as data URL",
      { type: "image_url", image_url: { url: `data:image/jpg;base64,${PNG}`, detail: "low" } },
      { type: "image", source: { type: "base64", media_type: "image/jpeg", data: PNG } },
    ],
    [
      "image by address, cached",
      { type: "image_url", image_url: "https://example.com/a.png", cache_control: cache },
      { type: "image", source: { type: "url", url: "https://example.com/a.png" }, cache_control: cache },
    ],
    [
      "PDF as data URL",
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" }, citations: { enabled: true } },
      {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "AAAA" },
        title: "a.pdf",
        citations: { enabled: true },
      },
    ],
    [
      "text file",
      { type: "file", file: { file_data: "data:text/plain;base64,aGk=" }, title: "facts" },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "hi" }, title: "facts" },
    ],
    [
      "text data URL that is not encoded",
      { type: "file", file: { file_data: "data:text/plain,a%20b%" } },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "a%20b%" } },
    ],
    ["uploaded file", { type: "file", file: { file_id: "file_1" } }, { type: "document", source: { type: "file", file_id: "file_1" } }],
    [
      "file by address",
      { type: "file", file: { file_url: "https://example.com/a.pdf?x=1" } },
      { type: "document", source: { type: "url", url: "https://example.com/a.pdf?x=1" } },
    ],
    ["a block of Anthropic's", { type: "container_upload", file_id: "file_1" }, { type: "container_upload", file_id: "file_1" }],
    ["a refusal told back", { type: "refusal", refusal: "no" }, text("no")],
  ];
  test.each(cases)("%s", (_name, part, expected) => {
    expect(messagesOf({ role: "user", content: [part] })).toEqual([{ role: "user", content: [expected] }]);
  });

  test("audio is refused and the place named", () => {
    const part = { type: "input_audio", input_audio: { data: "AAAA", format: "constructor" } };
    const request = () => build({ messages: [{ role: "user", content: [text("x"), part] }] });
    expect(request).toThrow(GatewayError);
    expect(request).toThrow(expect.objectContaining({ status: 400, param: "messages[0].content[1]" }));
  });
});

describe("tools", () => {
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const weather = { type: "function", function: { name: "weather", description: "d", parameters: schema, strict: true } };

  test("functions, Anthropic's own tools and cache marks", () => {
    const search = { type: "web_search_20250305", name: "web_search", max_uses: 2 };
    const cached = { type: "function", cache_control: { type: "ephemeral" }, function: { name: "now" } };
    expect(bodyOf({ tools: [weather, cached, search] })["tools"]).toEqual([
      { name: "weather", description: "d", input_schema: schema },
      { name: "now", input_schema: { type: "object" }, cache_control: { type: "ephemeral" } },
      search,
    ]);
  });

  test("the older functions", () => {
    const body = bodyOf({ functions: [{ name: "f", parameters: schema }], function_call: { name: "f" } });
    expect(body).toMatchObject({ tools: [{ name: "f", input_schema: schema }], tool_choice: { type: "tool", name: "f" } });
  });

  const choices: [string, JsonObject, unknown][] = [
    ["auto", { tool_choice: "auto" }, { type: "auto" }],
    ["none", { tool_choice: "none" }, { type: "none" }],
    ["required", { tool_choice: "required" }, { type: "any" }],
    ["named", { tool_choice: { type: "function", function: { name: "weather" } } }, { type: "tool", name: "weather" }],
    ["allowed tools", { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "required", tools: [] } } }, { type: "any" }],
    ["Anthropic's", { tool_choice: { type: "any", disable_parallel_tool_use: true } }, { type: "any", disable_parallel_tool_use: true }],
    ["one at a time", { parallel_tool_calls: false }, { type: "auto", disable_parallel_tool_use: true }],
    ["required, one at a time", { tool_choice: "required", parallel_tool_calls: false }, { type: "any", disable_parallel_tool_use: true }],
    ["none, one at a time", { tool_choice: "none", parallel_tool_calls: false }, { type: "none" }],
    ["parallel", { parallel_tool_calls: true }, undefined],
    ["unknown word", { tool_choice: "whatever" }, undefined],
  ];
  test.each(choices)("choice: %s", (_name, fields, expected) => {
    expect(bodyOf({ tools: [weather], ...fields })["tool_choice"]).toEqual(expected);
  });

  test("a history with calls but no tools declares those it used", () => {
    const messages = [
      { role: "user", content: "x" },
      { role: "assistant", tool_calls: [{ id: "t1", function: { name: "f", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "t1", content: "1" },
    ];
    expect(bodyOf({ messages })).toMatchObject({ tools: [{ name: "f", input_schema: { type: "object" } }], tool_choice: { type: "none" } });
  });
});

describe("structured output", () => {
  test("the schema is closed, constraints are told in words, the given one stays as it was", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        age: { type: "integer", minimum: 0, description: "years" },
        tags: { type: "array", items: { oneOf: [{ type: "string" }, { $ref: "#/$defs/tag" }] }, minItems: 3 },
      },
      $defs: { tag: { type: "object", properties: {}, additionalProperties: true } },
    };
    const before = structuredClone(schema);
    const format = { type: "json_schema", json_schema: { name: "n", schema, strict: true } };
    expect(bodyOf({ response_format: format })["output_config"]).toEqual({
      format: {
        type: "json_schema",
        schema: {
          type: "object",
          properties: {
            age: { type: "integer", description: "years (minimum: 0)" },
            tags: { type: "array", items: { anyOf: [{ type: "string" }, { $ref: "#/$defs/tag" }] }, description: "(minItems: 3)" },
          },
          $defs: { tag: { type: "object", properties: {}, additionalProperties: true } },
          additionalProperties: false,
        },
      },
    });
    expect(schema).toEqual(before);
  });
});

describe("reasoning effort", () => {
  const forced = { tools: [{ type: "function", function: { name: "f" } }], tool_choice: "required" };
  const cases: [string, string, JsonObject, JsonObject][] = [
    ["a budget", "claude-haiku-4-5", { reasoning_effort: "low" }, { thinking: { type: "enabled", budget_tokens: 2048 }, max_tokens: 6144 }],
    [
      "a budget below the limit",
      "claude-sonnet-4-20250514",
      { reasoning_effort: "high", max_tokens: 3000 },
      { thinking: { type: "enabled", budget_tokens: 2999 } },
    ],
    ["no room", "claude-3-7-sonnet-20250219", { reasoning_effort: "high", max_tokens: 1000 }, { thinking: undefined, max_tokens: 1000 }],
    ["none", "claude-haiku-4-5", { reasoning_effort: "none" }, { thinking: undefined }],
    [
      "a model that does not think",
      "claude-3-5-sonnet-20240620",
      { reasoning_effort: "high" },
      { thinking: undefined, output_config: undefined },
    ],
    ["adaptive", "claude-opus-4-6", { reasoning_effort: "xhigh" }, { thinking: { type: "adaptive" }, output_config: { effort: "max" } }],
    ["adaptive, later", "claude-opus-5", { reasoning_effort: "xhigh" }, { output_config: { effort: "xhigh" } }],
    ["adaptive, minimal", "claude-sonnet-5", { reasoning_effort: "minimal" }, { output_config: { effort: "low" } }],
    ["adaptive, none", "claude-sonnet-5", { reasoning_effort: "none" }, { thinking: { type: "disabled" }, output_config: undefined }],
    ["sampling beside it", "claude-opus-4-6", { reasoning_effort: "low", temperature: 0.3 }, { temperature: undefined }],
    ["a forced tool", "claude-haiku-4-5", { reasoning_effort: "low", ...forced }, { thinking: undefined, tool_choice: { type: "any" } }],
    ["a forced tool, adaptive", "claude-opus-4-6", { reasoning_effort: "low", ...forced }, { thinking: { type: "adaptive" } }],
  ];
  test.each(cases)("%s", (_name, model, fields, expected) => {
    const body = bodyOf({ model, ...fields });
    for (const [key, value] of Object.entries(expected)) expect(body[key], key).toEqual(value);
  });

  test("a tool loop whose thoughts were not sent back goes on without thinking, and with them thinks on", () => {
    const loop = (blocks: JsonObject[]) => [
      { role: "user", content: "x" },
      { role: "assistant", content_blocks: blocks, tool_calls: [{ id: "t1", function: { name: "f", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "t1", content: "1" },
    ];
    const tools = [{ type: "function", function: { name: "f" } }];
    const fields = { model: "claude-haiku-4-5", reasoning_effort: "low", tools };
    expect(bodyOf({ ...fields, messages: loop([]) })["thinking"]).toBeUndefined();
    const thought = { type: "thinking", thinking: "t", signature: "s" };
    expect(bodyOf({ ...fields, messages: loop([thought]) })["thinking"]).toBeDefined();
    expect(
      bodyOf({ ...fields, messages: [...loop([]), { role: "assistant", content: "done" }, { role: "user", content: "y" }] })["thinking"],
    ).toBeDefined();
  });
});

const call = fc.record({
  id: fc.oneof(fc.constantFrom("call_1", "call_2", ""), fc.string({ maxLength: 8 })),
  type: fc.constant("function"),
  function: fc.record({ name: fc.constantFrom("f", "g"), arguments: fc.oneof(fc.json({ maxDepth: 2 }), fc.string({ maxLength: 8 })) }),
});
const content = fc.oneof(
  fc.constantFrom("", " ", "hello ", "a\n"),
  fc.constant(null),
  fc.array(
    fc.oneof(
      fc.record({ type: fc.constant("text"), text: fc.string({ maxLength: 5 }) }),
      fc.constant({ type: "image_url", image_url: { url: "https://x.example/a" } }),
    ),
    {
      maxLength: 3,
    },
  ),
);
const message = fc.oneof(
  fc.record({ role: fc.constantFrom("system", "developer", "user"), content }),
  fc.record(
    { role: fc.constant("assistant"), content, tool_calls: fc.array(call, { maxLength: 3 }) },
    { requiredKeys: ["role", "content"] },
  ),
  fc.record(
    { role: fc.constantFrom("tool", "function"), tool_call_id: fc.constantFrom("call_1", "call_2"), content },
    { requiredKeys: ["role", "content"] },
  ),
);

test("any messages give turns that the API takes: user first, roles alternating, nothing empty, results first", () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
      const turns = bodyOf({ messages })["messages"] as { role: string; content: JsonObject[] }[];
      expect(turns.map((turn) => turn.role)).toEqual(turns.map((_, index) => (index % 2 === 0 ? "user" : "assistant")));
      for (const turn of turns) {
        expect(turn.content.length).toBeGreaterThan(0);
        for (const block of turn.content) {
          if (block["type"] === "text") expect(String(block["text"]).trim()).not.toBe("");
          if (block["type"] === "tool_use") expect(block["id"]).toMatch(/^[a-zA-Z0-9_-]+$/);
        }
        const kinds = turn.content.map((block) => block["type"] === "tool_result");
        expect(kinds).toEqual([...kinds].sort((a, b) => Number(b) - Number(a)));
      }
    }),
    { numRuns: 300 },
  );
});

test("any JSON as messages builds or is refused with a reason, and never changes", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 3 }), (messages, tools) => {
      const json = { messages, tools, tool_choice: tools, response_format: messages, stop: tools, thinking: messages };
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
