import { isObject, type JsonObject } from "@unigate/core";
import { describe, expect, test } from "vitest";
import type { LocalAnswer, StreamInput, StreamReader, SurfaceReply } from "../define.ts";
import mock from "./index.ts";
import { sampleOf } from "./schema-sample.ts";

const surface = mock.surfaces.chat ?? expect.fail("the mock has no chat surface");

function inputOf(json: JsonObject): StreamInput {
  const body = Buffer.from(JSON.stringify(json));
  const stream = json["stream"] === true;
  return {
    body,
    json,
    model: String(json["model"]),
    stream,
    clientUsage: true,
    strict: true,
    settings: {},
    headers: {},
    created: 1_700_000_000,
    wantDeltas: true,
    wantAssembled: true,
  };
}

function ask(more: JsonObject = {}, text = "Hello there"): JsonObject {
  return { model: "mock-1", messages: [{ role: "user", content: text }], ...more };
}

function local(json: JsonObject): LocalAnswer {
  return mock.local?.(surface.build(inputOf(json)), "chat") ?? expect.fail("the mock answers nothing");
}

function bytesOf(answer: LocalAnswer): Buffer {
  return Buffer.concat(answer.pieces.map((piece) => piece.data));
}

function unary(json: JsonObject): { reply: SurfaceReply; message: JsonObject; json: JsonObject } {
  const reply = surface.read(bytesOf(local(json)), inputOf(json));
  const answer = JSON.parse(String(reply.body)) as { choices: { message: JsonObject }[] };
  return { reply, message: answer.choices[0]?.message ?? {}, json: answer };
}

function streamed(json: JsonObject): StreamReader {
  const given = { ...json, stream: true };
  const reader = surface.stream(inputOf(given));
  const answer = local(given);
  for (const event of String(bytesOf(answer)).split("\n\n")) if (event !== "") reader.event("", event.slice("data: ".length));
  if (answer.cut !== true) reader.end();
  return reader;
}

const TOOLS = ["get_tide", "get_wind"].map((name) => ({
  type: "function",
  function: { name, parameters: { type: "object", properties: { harbour: { type: "string", enum: ["Hoek"] } }, required: ["harbour"] } },
}));

test("the same body gives the same bytes; another body another answer", () => {
  expect(bytesOf(local(ask()))).toEqual(bytesOf(local(ask())));
  expect(bytesOf(local(ask()))).not.toEqual(bytesOf(local(ask({ seed: 1 }))));
});

test("it repeats what it was told, with usage", () => {
  const { reply, message } = unary(ask());
  expect(message["content"]).toContain('"Hello there"');
  expect(reply).toMatchObject({ model: "mock-1", finishReason: "stop", usage: { input: 5 } });
  expect(reply.usage?.outputText).toBeGreaterThan(5);
});

describe("a stream says what the unary answer says", () => {
  test.each<[string, JsonObject]>([
    ["text", ask()],
    ["three choices", ask({ n: 3 })],
    ["reasoning", ask({ reasoning_effort: "low" })],
    ["tools", ask({ tools: TOOLS, tool_choice: "required" })],
    ["cut by max_tokens", ask({ max_tokens: 4 })],
    ["a JSON object", ask({ response_format: { type: "json_object" } })],
  ])("%s", (_, json) => {
    const reader = streamed(json);
    expect(reader.state).toMatchObject({ done: true, failure: null });
    const { id: _1, created: _2, ...told } = reader.assembled();
    const { id: _3, created: _4, ...whole } = unary(json).json;
    expect(told).toEqual(whole);
    expect(reader.state.finishReason).toBe(unary(json).reply.finishReason);
  });
});

describe("tools", () => {
  test.each<[string, JsonObject, string[]]>([
    ["required", ask({ tools: TOOLS, tool_choice: "required" }), ["get_tide"]],
    ["a named function", ask({ tools: TOOLS, tool_choice: { type: "function", function: { name: "get_wind" } } }), ["get_wind"]],
    ["auto, none named", ask({ tools: TOOLS }), []],
    ["auto, one named", ask({ tools: TOOLS }, "please get_wind"), ["get_wind"]],
    ["auto, both named", ask({ tools: TOOLS, parallel_tool_calls: true }, "get_tide and get_wind"), ["get_tide", "get_wind"]],
    ["both named, one at a time", ask({ tools: TOOLS, parallel_tool_calls: false }, "get_tide and get_wind"), ["get_tide"]],
    ["none", ask({ tools: TOOLS, tool_choice: "none" }, "get_wind"), []],
    [
      "after a tool's answer",
      ask({ tools: TOOLS, tool_choice: "required", messages: [{ role: "tool", tool_call_id: "x", content: "2 m" }] }),
      [],
    ],
  ])("%s", (_, json, names) => {
    const { message, reply } = unary(json);
    const calls = (message["tool_calls"] ?? []) as { id: string; function: { name: string; arguments: string } }[];
    expect(calls.map((call) => call.function.name)).toEqual(names);
    for (const call of calls) expect(JSON.parse(call.function.arguments)).toEqual({ harbour: "Hoek" });
    expect(new Set(calls.map((call) => call.id)).size).toBe(names.length);
    expect(reply.finishReason).toBe(names.length > 0 ? "tool_calls" : "stop");
  });
});

describe("structured answers", () => {
  test("json_object", () => {
    expect(isObject(JSON.parse(String(unary(ask({ response_format: { type: "json_object" } })).message["content"])))).toBe(true);
  });

  test("json_schema", () => {
    const schema = {
      type: "object",
      required: ["name", "kind", "depths", "where"],
      properties: {
        name: { type: "string", minLength: 6, maxLength: 8 },
        kind: { enum: ["sea", "river"] },
        depths: { type: "array", minItems: 2, items: { type: "integer", minimum: 3 } },
        where: { $ref: "#/$defs/place" },
        note: { anyOf: [{ type: "null" }, { type: "string" }] },
      },
      $defs: { place: { type: "object", properties: { north: { type: "number", maximum: 0 }, open: { type: "boolean" } } } },
    };
    const { message } = unary(ask({ response_format: { type: "json_schema", json_schema: { name: "x", schema } } }));
    expect(JSON.parse(String(message["content"]))).toEqual({
      name: "mock--",
      kind: "sea",
      depths: [3, 3],
      where: { north: 0, open: true },
      note: null,
    });
  });

  test("a schema that holds itself ends", () => {
    const schema = { type: "object", properties: { child: { $ref: "#" } } };
    expect(() => JSON.stringify(sampleOf(schema))).not.toThrow();
  });
});

test("stop sequences and max_tokens", () => {
  expect(unary(ask({ stop: ["This is"] })).message["content"]).toBe('You said: "Hello there". ');
  expect(unary(ask({ stop: ["This is"] })).reply.finishReason).toBe("stop");
  expect(unary(ask({ max_completion_tokens: 2 })).message["content"]).toBe("You said: ");
});

describe("models", () => {
  test.each([400, 401, 429, 500, 503, 529])("mock-error-%i", (status) => {
    const answer = local(ask({ model: `mock-error-${status}` }));
    expect(answer.status).toBe(status);
    expect(answer.headers["retry-after"]).toBe(status === 429 ? "1" : undefined);
    expect(mock.readError(status, bytesOf(answer), {})).toMatchObject({ status, code: `mock_${status}` });
  });

  test("mock-stream-50 sends 50 content chunks", () => {
    const reader = streamed(ask({ model: "mock-stream-50" }));
    expect(reader.state.deltas).toHaveLength(50);
    expect(reader.state.usage?.outputText).toBe(50);
  });

  test("mock-slow and mock-drip wait where they say", () => {
    expect(local(ask({ model: "mock-slow-2000" })).delayMs).toBe(2000);
    const waits = local(ask({ model: "mock-drip-100", stream: true })).pieces.map((piece) => piece.afterMs);
    expect(waits.filter((ms) => ms === 100).length).toBeGreaterThan(5);
    expect(waits[0]).toBe(0);
  });

  test("mock-cut breaks in the middle", () => {
    const reader = streamed(ask({ model: "mock-cut" }));
    reader.end();
    expect(reader.state).toMatchObject({ done: false, failure: null, content: true });
    expect(local(ask({ model: "mock-cut" })).cut).toBe(true);
    expect(() => unary(ask({ model: "mock-cut" }))).toThrow();
  });

  test.each([
    ["mock-stream-error", false],
    ["mock-stream-error-late", true],
  ])("%s", (model, content) => {
    expect(streamed(ask({ model })).state).toMatchObject({ content, done: false, failure: { status: 529 } });
    expect(local(ask({ model })).status).toBe(529);
  });

  test("mock-garbage is no answer, unary and as a stream", () => {
    expect(() => unary(ask({ model: "mock-garbage" }))).toThrow();
    expect(streamed(ask({ model: "mock-garbage" })).state.failure).toMatchObject({ status: 502, code: "upstream_invalid" });
  });

  test("mock-reasoning thinks first", () => {
    expect(unary(ask({ model: "mock-reasoning" })).message["reasoning_content"]).toMatch(/mock provider/);
  });
});

describe("proxied", () => {
  function proxied(method: "GET" | "POST", path: string, body: JsonObject | null): JsonObject {
    const request = { method, path, headers: {}, body: body === null ? null : Buffer.from(JSON.stringify(body)) };
    const answer = mock.local?.(request, "proxy") ?? expect.fail("the mock answers nothing");
    return JSON.parse(String(bytesOf(answer))) as JsonObject;
  }

  test("models", () => {
    expect(proxied("GET", "/models", null)["data"]).toHaveLength(mock.models.length);
  });

  test("embeddings depend on the text alone", () => {
    const data = proxied("POST", "/embeddings", { model: "e", input: ["a", "b", "a"], dimensions: 40 })["data"] as {
      embedding: number[];
    }[];
    const [first, second, third] = data.map((entry) => entry.embedding);
    expect(first).toHaveLength(40);
    expect(third).toEqual(first);
    expect(second).not.toEqual(first);
    expect(Math.hypot(...(first ?? []))).toBeCloseTo(1);
  });

  test("everything else is told back", () => {
    expect(proxied("POST", "/any/path?x=1", { a: 1 })).toEqual({
      object: "mock.echo",
      method: "POST",
      path: "/any/path?x=1",
      body: { a: 1 },
    });
  });
});
