import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isObject, type JsonObject } from "@unigate/core";
import { describe, expect, test } from "vitest";
import type { StreamInput } from "../define.ts";
import anthropic from "./index.ts";

// Recorded traffic lies beside the repository, or where UNIGATE_FIXTURES says. Each case is read twice: by the provider,
// and here, naively.

const root = process.env["UNIGATE_FIXTURES"] ?? fileURLToPath(new URL("../../../../../shared/fixtures", import.meta.url));
const present = existsSync(`${root}/anthropic`);
if (!present) process.stdout.write(`skipped: no recordings of anthropic at ${root}\n`);

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- recordings are read as they are

interface Case {
  readonly name: string;
  readonly folder: string;
  readonly status: number;
}

function casesOf(surface: string): Case[] {
  const base = `${root}/anthropic/${surface}`;
  if (!existsSync(base)) return [];
  return readdirSync(base).map((name) => {
    const folder = `${base}/${name}`;
    return { name, folder, status: JSON.parse(readFileSync(`${folder}/status.json`, "utf8")).status as number };
  });
}

function bytesOf(recorded: Case): Buffer {
  const file = readdirSync(recorded.folder).find((name) => name.startsWith("response."));
  return readFileSync(`${recorded.folder}/${file}`);
}

function eventsOf(recorded: Case): Json[] {
  const text = bytesOf(recorded).toString("utf8");
  const lines = text.split("\n").map((line) => (line.startsWith("data:") ? line.slice(5) : line));
  return lines.filter((line) => line.trim().startsWith("{")).map((line) => JSON.parse(line) as Json);
}

function inputFor(strict: boolean): StreamInput {
  const json: JsonObject = { model: "claude", messages: [] };
  return {
    json,
    body: Buffer.from("{}"),
    model: "claude",
    stream: true,
    clientUsage: true,
    strict,
    settings: {},
    headers: {},
    created: 1_700_000_000,
    wantDeltas: true,
    wantAssembled: true,
  };
}

/** The message that a stream's events amount to; what came before a second `message_start` is void. */
function messageOf(events: readonly Json[]): Json {
  let message: Json = {};
  let counts: Json = {};
  for (const event of events) {
    if (event["type"] === "message_start") {
      message = { ...event["message"], content: [] };
      counts = { ...counts, ...event["message"].usage };
    } else if (event["type"] === "content_block_start") {
      message["content"][event["index"]] = { ...event["content_block"], pieces: "" };
    } else if (event["type"] === "content_block_delta") {
      const block = message["content"][event["index"]];
      const delta = event["delta"];
      if (delta.type === "text_delta") block.text += delta.text;
      if (delta.type === "thinking_delta") block.thinking += delta.thinking;
      if (delta.type === "signature_delta") block.signature = (block.signature ?? "") + delta.signature;
      if (delta.type === "citations_delta") block.citations.push(delta.citation);
      if (delta.type === "input_json_delta") block.pieces += delta.partial_json;
    } else if (event["type"] === "message_delta") {
      message = { ...message, ...event["delta"] };
      counts = { ...counts, ...event["usage"] };
    }
  }
  for (const block of message["content"]) {
    if (block.pieces !== "") block.input = JSON.parse(block.pieces);
    delete block.pieces;
  }
  return { ...message, usage: counts };
}

const FINISH: Json = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

/** What the client must be told of a message. */
function expectationOf(message: Json) {
  const blocks = message["content"] as Json[];
  const calls = blocks.filter((block) => block["type"] === "tool_use");
  const reason = FINISH[message["stop_reason"]] as string;
  const counts = message["usage"] as Json;
  const read = counts["cache_read_input_tokens"] ?? 0;
  const written = counts["cache_creation_input_tokens"] ?? 0;
  const prompt = counts["input_tokens"] + read + written;
  return {
    text: blocks.map((block) => (block["type"] === "text" ? block["text"] : "")).join(""),
    calls: calls.map((block) => ({ id: block["id"], name: block["name"], input: block["input"] })),
    finish: calls.length > 0 && reason === "stop" ? "tool_calls" : reason,
    usage: {
      prompt_tokens: prompt,
      completion_tokens: counts["output_tokens"],
      total_tokens: prompt + counts["output_tokens"],
      prompt_tokens_details: { cached_tokens: read },
      completion_tokens_details: { reasoning_tokens: counts["output_tokens_details"]?.thinking_tokens ?? 0 },
    },
    written,
    kept: blocks.filter((block) => block["type"] !== "tool_use"),
  };
}

function toldBy(completion: Json) {
  const choice = completion["choices"][0];
  return {
    text: choice.message.content ?? "",
    calls: (choice.message.tool_calls ?? []).map((call: Json) => ({
      id: call["id"],
      name: call["function"].name,
      input: JSON.parse(call["function"].arguments),
    })),
    finish: choice.finish_reason,
    usage: completion["usage"],
  };
}

const STRICT_DELTA = new Set(["role", "content", "tool_calls", "refusal"]);

/** What a client's SDK makes of the events. */
function clientView(text: string) {
  const lines = text.split("\n\n").filter((line) => line !== "");
  expect(lines.at(-1)).toBe("data: [DONE]");
  const chunks = lines.slice(0, -1).map((line) => JSON.parse(line.slice("data: ".length)) as Json);
  const calls: Json[] = [];
  let content = "";
  let finish = "";
  for (const chunk of chunks) {
    for (const choice of chunk["choices"]) {
      content += choice.delta.content ?? "";
      finish = choice.finish_reason ?? finish;
      for (const piece of choice.delta.tool_calls ?? []) {
        const call = (calls[piece.index] ??= { id: piece.id, name: piece.function.name, text: "" });
        call["text"] += piece.function.arguments ?? "";
      }
    }
  }
  const keys = chunks.flatMap((chunk) => chunk["choices"].flatMap((choice: Json) => Object.keys(choice["delta"])));
  return {
    told: {
      text: content,
      calls: calls.map((call) => ({ id: call["id"], name: call["name"], input: JSON.parse(call["text"]) })),
      finish,
      usage: chunks.at(-1)?.["usage"],
    },
    keys: new Set<string>(keys),
    ids: new Set(chunks.map((chunk) => chunk["id"])),
  };
}

const chat = anthropic.surfaces.chat;
if (chat === undefined) throw new Error("no chat surface");

describe.skipIf(!present)("recorded answers of Anthropic", () => {
  test.each(casesOf("chat"))("$name", (recorded) => {
    const body = bytesOf(recorded);
    const answer = JSON.parse(body.toString("utf8")) as Json;
    const expected = expectationOf(answer);
    const strict = chat.read(body, inputFor(true));
    const completion = JSON.parse(strict.body.toString("utf8")) as Json;
    expect(toldBy(completion)).toEqual({ text: expected.text, calls: expected.calls, finish: expected.finish, usage: expected.usage });
    expect(completion["id"]).toBe(answer["id"]);
    expect(strict.model).toBe(answer["model"]);
    expect(Object.keys(completion["choices"][0].message).every((key) => STRICT_DELTA.has(key))).toBe(true);

    const loose = JSON.parse(chat.read(body, inputFor(false)).body.toString("utf8")) as Json;
    expect(loose["choices"][0].message.content_blocks ?? []).toEqual(expected.kept);
    expect(loose["usage"].cache_creation_input_tokens).toBe(expected.written);
  });
});

describe.skipIf(!present)("recorded streams of Anthropic", () => {
  test.each(casesOf("chat-stream"))("$name", (recorded) => {
    const events = eventsOf(recorded);
    const message = messageOf(events);
    const expected = expectationOf(message);
    const restarts = events.filter((event) => event["type"] === "message_start").length - 1;
    for (const strict of [true, false]) {
      const reader = chat.stream(inputFor(strict));
      for (const event of events) reader.event(event["type"], JSON.stringify(event));
      reader.end();
      expect(reader.state.failure).toBeNull();
      expect(reader.state.done).toBe(true);
      const seen = clientView(reader.state.text);
      const calls = restarts === 0 ? expected.calls : expected.calls.map((call) => ({ ...call, id: expect.any(String) }));
      expect(seen.told).toMatchObject({ text: expected.text, calls, finish: expected.finish, usage: expected.usage });
      expect(seen.told.calls).toHaveLength(expected.calls.length);
      expect(seen.ids).toEqual(new Set([events[0]?.["message"].id]));
      if (strict) expect([...seen.keys].filter((key) => !STRICT_DELTA.has(key))).toEqual([]);
      const assembled = reader.assembled();
      expect(toldBy(assembled)).toEqual(seen.told);
      if (restarts > 0 || strict) continue;
      const unary = chat.read(Buffer.from(JSON.stringify(message)), inputFor(false));
      expect(meaning(assembled)).toEqual(meaning(JSON.parse(unary.body.toString("utf8"))));
    }
  });

  test.each(casesOf("chat-stream"))("$name, cut anywhere, is not taken for whole", (recorded) => {
    const events = eventsOf(recorded);
    for (let length = 0; length < events.length; length++) {
      const reader = chat.stream(inputFor(true));
      for (const event of events.slice(0, length)) reader.event("", JSON.stringify(event));
      reader.end();
      expect(reader.state.done).toBe(false);
      expect(reader.state.text).not.toContain("[DONE]");
    }
  });
});

/** What an answer means: a stream cannot tell empty texts and lists from absent ones, and keeps the spacing of arguments. */
function meaning(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(meaning);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== "" && inner !== null && !(Array.isArray(inner) && inner.length === 0));
  return Object.fromEntries(kept.map(([key, inner]) => [key, key === "arguments" ? JSON.parse(String(inner)) : meaning(inner)]));
}

describe.skipIf(!present)("recorded errors of Anthropic", () => {
  test.each(casesOf("errors"))("$name", (recorded) => {
    const body = bytesOf(recorded);
    const error = (JSON.parse(body.toString("utf8")) as Json)["error"];
    expect(anthropic.readError(recorded.status, body, {})).toMatchObject({
      status: recorded.status,
      message: `anthropic error: ${error.message}`,
      type: error.type,
      code: error.type,
      param: null,
    });
  });
});
