import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isObject, type JsonObject } from "@unigate/core";
import { describe, expect, test } from "vitest";
import type { StreamInput } from "../define.ts";
import google from "./index.ts";

// Recorded traffic lies beside the repository, or where UNIGATE_FIXTURES says. Each case is read twice: by the provider,
// and here, naively. Vertex AI's answers of Google's models have the same shape and are read too.

const root = process.env["UNIGATE_FIXTURES"] ?? fileURLToPath(new URL("../../../../../shared/fixtures", import.meta.url));
const present = existsSync(`${root}/gemini`);
if (!present) process.stdout.write(`skipped: no recordings of gemini at ${root}\n`);

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- recordings are read as they are

interface Case {
  readonly name: string;
  readonly folder: string;
  readonly status: number;
}

function casesOf(surface: string, pick: (path: string) => boolean): Case[] {
  const bases = ["gemini", "vertex"].map((provider) => `${root}/${provider}/${surface}`).filter((base) => existsSync(base));
  const cases = bases.flatMap((base) => readdirSync(base).map((name) => ({ name, folder: `${base}/${name}` })));
  return cases
    .filter(({ folder }) => pick((json(`${folder}/request.json`)["path"] as string) ?? ""))
    .map((found) => ({ ...found, status: json(`${found.folder}/status.json`)["status"] as number }));
}

function json(file: string): Json {
  return JSON.parse(readFileSync(file, "utf8")) as Json;
}

function bytesOf(recorded: Case): Buffer {
  const file = readdirSync(recorded.folder).find((name) => name.startsWith("response."));
  return readFileSync(`${recorded.folder}/${file}`);
}

/** The data of the events; a body that is one list (no SSE was asked for) is one event. */
function eventsOf(recorded: Case): string[] {
  const text = bytesOf(recorded).toString("utf8");
  if (text.trimStart().startsWith("[")) return [text];
  const lines = text.split("\n").map((line) => (line.startsWith("data:") ? line.slice(5) : line));
  return lines.filter((line) => line.trim().startsWith("{"));
}

function answersOf(events: readonly string[]): Json[] {
  return events.flatMap((event) => JSON.parse(event) as Json | Json[]);
}

function inputFor(strict: boolean): StreamInput {
  const body: JsonObject = { model: "gemini", messages: [] };
  return {
    json: body,
    body: Buffer.from("{}"),
    model: "gemini",
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

const FINISH: Json = { STOP: "stop", "1": "stop", MAX_TOKENS: "length", SAFETY: "content_filter", UNEXPECTED_TOOL_CALL: "stop" };

/** What the client must be told of the answers, which are those of a stream or a single one. All recordings have one candidate. */
function expectationOf(answers: readonly Json[]) {
  const candidates = answers.flatMap((answer) => (answer["candidates"] ?? []) as Json[]);
  const parts = candidates.flatMap((candidate) => (candidate["content"]?.parts ?? []) as Json[]);
  const reason = candidates.map((candidate) => candidate["finishReason"]).findLast((word) => word !== undefined);
  const calls = callsOf(parts);
  const finish = candidates.length === 0 ? "content_filter" : FINISH[String(reason)];
  const counts = answers.map((answer) => answer["usageMetadata"] as Json).findLast((found) => found !== undefined);
  const prompt = (counts?.["promptTokenCount"] ?? 0) + (counts?.["toolUsePromptTokenCount"] ?? 0);
  const thoughts = counts?.["thoughtsTokenCount"] ?? 0;
  const completion = (counts?.["candidatesTokenCount"] ?? 0) + thoughts;
  return {
    text: parts.map((part) => (part["thought"] === true ? "" : (part["text"] ?? ""))).join(""),
    thoughts: parts.map((part) => (part["thought"] === true ? part["text"] : "")).join(""),
    calls,
    finish: calls.length > 0 && finish === "stop" ? "tool_calls" : finish,
    usage: counts && {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: expect.objectContaining({ cached_tokens: counts["cachedContentTokenCount"] ?? 0 }),
      completion_tokens_details: expect.objectContaining({ reasoning_tokens: thoughts }),
    },
    told: counts?.["totalTokenCount"] as number | undefined,
  };
}

/** Calls in order. Streamed arguments are laid together, at the first level only: the recordings have no deeper ones. */
function callsOf(parts: readonly Json[]): Json[] {
  const calls: Json[] = [];
  for (const part of parts) {
    const call = part["functionCall"] as Json | undefined;
    if (call === undefined) continue;
    if (call["name"] !== undefined) {
      calls.push({
        id: call["id"] ?? expect.any(String),
        name: call["name"],
        input: call["args"] ?? {},
        signature: part["thoughtSignature"],
      });
    }
    for (const piece of call["partialArgs"] ?? []) {
      const input = calls.at(-1)?.["input"] as Json;
      const key = (piece.jsonPath as string).slice(2);
      input[key] = (input[key] ?? "") + piece.stringValue;
    }
  }
  return calls;
}

function callOf(call: Json): Json {
  return {
    id: call["id"],
    name: call["function"].name,
    input: JSON.parse(call["function"].arguments),
    signature: call["extra_content"]?.google.thought_signature,
  };
}

function toldBy(completion: Json) {
  const choice = completion["choices"][0];
  return {
    text: choice.message.content ?? "",
    calls: (choice.message.tool_calls ?? []).map(callOf),
    finish: choice.finish_reason,
    usage: completion["usage"],
  };
}

/** What a client's SDK makes of the events. */
function clientView(text: string) {
  const lines = text.split("\n\n").filter((line) => line !== "");
  expect(lines.at(-1)).toBe("data: [DONE]");
  const chunks = lines.slice(0, -1).map((line) => JSON.parse(line.slice("data: ".length)) as Json);
  const choices = chunks.flatMap((chunk) => chunk["choices"] as Json[]);
  const calls = choices.flatMap((choice) => (choice["delta"].tool_calls ?? []) as Json[]);
  expect(calls.map((call) => call["index"])).toEqual(calls.map((_, index) => index));
  return {
    told: {
      text: choices.map((choice) => choice["delta"].content ?? "").join(""),
      calls: calls.map(callOf),
      finish: choices.map((choice) => choice["finish_reason"]).findLast((reason) => reason !== null),
      usage: chunks.at(-1)?.["usage"],
    },
    keys: new Set(choices.flatMap((choice) => [...Object.keys(choice["delta"]), ...Object.keys(choice)])),
  };
}

const STRICT = new Set(["role", "content", "tool_calls", "refusal", "index", "delta", "logprobs", "finish_reason"]);

const chat = google.surfaces.chat;
if (chat === undefined) throw new Error("no chat surface");
const isUnary = (path: string) => path.includes(":generateContent") && !path.includes("anthropic");
const isStream = (path: string) => path.includes(":streamGenerateContent") && !path.includes("anthropic");

describe.skipIf(!present)("recorded answers of Gemini", () => {
  test.each(casesOf("chat", isUnary))("$name", (recorded) => {
    const body = bytesOf(recorded);
    const answer = JSON.parse(body.toString("utf8")) as Json;
    const expected = expectationOf([answer]);
    const strict = chat.read(body, inputFor(true));
    const completion = JSON.parse(strict.body.toString("utf8")) as Json;
    expect(toldBy(completion)).toEqual({ text: expected.text, calls: expected.calls, finish: expected.finish, usage: expected.usage });
    expect(completion["usage"].total_tokens).toBe(expected.told);
    expect(completion["id"]).toBe(answer["responseId"] ?? "google-1700000000000");
    expect(strict.model).toBe(answer["modelVersion"]);
    const choice = completion["choices"][0] as Json;
    expect([...Object.keys(choice), ...Object.keys(choice["message"])].filter((key) => key !== "message" && !STRICT.has(key))).toEqual([]);

    const loose = JSON.parse(chat.read(body, inputFor(false)).body.toString("utf8")) as Json;
    const blocks = (loose["choices"][0].message.content_blocks ?? []) as Json[];
    expect(blocks.map((block) => block["thinking"] ?? "").join("")).toBe(expected.thoughts);
    expect(blocks.map((block) => block["text"] ?? "").join("")).toBe(expected.text);
    expect(loose["choices"][0].groundingMetadata).toEqual(answer["candidates"]?.[0].groundingMetadata);
  });
});

describe.skipIf(!present)("recorded streams of Gemini", () => {
  test.each(casesOf("chat-stream", isStream))("$name", (recorded) => {
    const events = eventsOf(recorded);
    const expected = expectationOf(answersOf(events));
    for (const strict of [true, false]) {
      const reader = chat.stream(inputFor(strict));
      for (const event of events) reader.event("", event);
      expect(reader.state.done).toBe(false);
      reader.end();
      expect(reader.state.failure).toBeNull();
      expect(reader.state.done).toBe(true);
      const seen = clientView(reader.state.text);
      expect(seen.told).toMatchObject({ text: expected.text, calls: expected.calls, finish: expected.finish });
      expect(seen.told.calls).toHaveLength(expected.calls.length);
      if (expected.usage !== undefined) expect(seen.told.usage).toMatchObject(expected.usage);
      const assembled: Json = reader.assembled();
      expect(toldBy(assembled)).toEqual(seen.told);
      if (strict) expect([...seen.keys].filter((key) => !STRICT.has(key))).toEqual([]);
      else {
        const blocks = (assembled["choices"][0].message.content_blocks ?? []) as Json[];
        expect(blocks.map((block) => block["thinking"] ?? "").join("")).toBe(expected.thoughts);
      }
    }
  });

  test.each(casesOf("chat-stream", isStream))("$name, cut before the last event, is not taken for whole", (recorded) => {
    const events = eventsOf(recorded);
    const lastReason = events.findIndex((event) => event.includes("finishReason") || event.includes("blockReason"));
    const reader = chat.stream(inputFor(true));
    for (const event of events.slice(0, lastReason)) reader.event("", event);
    reader.end();
    expect(reader.state.done).toBe(false);
    expect(reader.state.text).not.toContain("[DONE]");
  });
});

describe.skipIf(!present)("recorded errors of Gemini", () => {
  test.each(casesOf("errors", (path) => !path.includes("anthropic")))("$name", (recorded) => {
    const body = bytesOf(recorded);
    const found = google.readError(recorded.status, body, {});
    expect(found.status).toBe(recorded.status);
    let error: Json | undefined;
    try {
      const answer = JSON.parse(body.toString("utf8")) as Json | Json[];
      error = (Array.isArray(answer) ? answer[0] : answer)?.["error"];
    } catch {
      // An HTML page.
    }
    if (!isObject(error)) {
      expect(found.message).toContain("Invalid response received from google");
      return;
    }
    expect(found).toMatchObject({ message: `google error: ${error["message"] as string}`, code: error["status"] ?? null });
    const reasons = JSON.stringify(error["details"] ?? []);
    if (reasons.includes("API_KEY_INVALID")) expect(found.type).toBe("authentication_error");
    const delay = /"retryDelay":"([\d.]+)s"/.exec(reasons)?.[1];
    expect(found.retryAfterMs).toBe(delay === undefined ? undefined : Number(delay) * 1000);
  });
});
