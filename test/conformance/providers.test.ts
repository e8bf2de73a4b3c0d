import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { completionTokens, isObject, type JsonObject, promptTokens } from "@unigate/core";
import { findProvider, type Provider, providers, type StreamInput, type StreamReader } from "@unigate/providers";
import {
  framedChunks,
  loadOwnRecordings,
  loadRecordings,
  type OwnCase,
  type OwnResult,
  type Recording,
  streamBytes,
} from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { addAnthropic, addGoogle, addOpenAi, eventsOf, type Said, silence } from "./naive.ts";
import { byteByByte, chatOf, inputOf, replay, seededPieces, type Wire, wireOf } from "./replay.ts";

const SEEDS = [1, 7, 42, 1_234, 99_991];
/** Of a long stream this much comes byte by byte, the rest at once. */
const MOST_SINGLE_BYTES = 32 * 1024;
const FINISH_REASONS = ["stop", "length", "tool_calls", "content_filter", "function_call"];
const ADD: Record<Wire, (said: Said, json: JsonObject) => void> = { openai: addOpenAi, anthropic: addAnthropic, google: addGoogle };

function parse(text: string): JsonObject {
  return JSON.parse(text) as JsonObject;
}

/** What the client was told, read from the text that a reader wrote. */
function toldTo(text: string): { said: Said; chunks: JsonObject[]; terminals: number } {
  const events = eventsOf(text);
  const chunks = events.filter((data) => data !== "[DONE]").map(parse);
  const said = silence();
  for (const chunk of chunks) addOpenAi(said, chunk);
  return { said, chunks, terminals: events.length - chunks.length };
}

/** Text of the deltas of one channel of the first choice. */
function channel(reader: StreamReader, name: string): string {
  return reader.state.deltas
    .filter((delta) => delta.choice === 0 && delta.channel === name)
    .map((delta) => delta.text)
    .join("");
}

describe("own recordings", () => {
  const recordings = loadOwnRecordings(fileURLToPath(new URL("../../packages/providers/src", import.meta.url)));

  for (const own of recordings) {
    const provider = findProvider(own.provider);
    if (provider === undefined) continue;
    test.each(own.chat.map((one) => [one.name, one] as const))(`${own.provider} chat: %s`, (_, one) => {
      const input = inputFor(one);
      expectBuilt(provider, one, input);
      const body = Buffer.from(JSON.stringify(one.answer));
      const reply = chatOf(provider).read(body, input);
      const said = silence();
      addOpenAi(said, parse(String(reply.body)));
      expectResult(said, reply, one.result);
      if (one.result.clientUsage !== undefined) expect(parse(String(reply.body))["usage"]).toMatchObject(one.result.clientUsage);
    });
    test.each(own.stream.map((one) => [one.name, one] as const))(`${own.provider} stream: %s`, (_, one) => {
      const input = inputFor(one);
      expectBuilt(provider, one, input);
      const body = framedChunks(own.folder, one.chunks ?? "");
      const reader = replay(chatOf(provider), input, [body]);
      expectResult(toldTo(reader.state.text).said, reader.state, one.result);
      if (one.result.done !== undefined) expect(reader.state.done).toBe(one.result.done);
      if (one.result.failure !== undefined) expect(reader.state.failure).toMatchObject(one.result.failure);
      expectSameHoweverSplit(provider, input, body, reader);
    });
    test.each(own.errors.map((one) => [one.name, one] as const))(`${own.provider} error: %s`, (_, one) => {
      const body = Buffer.from(one.text ?? JSON.stringify(one.body));
      expect(provider.readError(one.status, body, one.headers ?? {})).toMatchObject(one.result);
    });
  }

  test("every provider has them", () => {
    const complete = recordings.filter(({ chat, stream, errors }) => chat.length > 0 && stream.length > 0 && errors.length > 0);
    expect(complete.map((own) => own.provider)).toEqual(expect.arrayContaining(providers.map((provider) => provider.id)));
  });
});

function inputFor(one: OwnCase): StreamInput {
  return inputOf(one.request, { strict: one.strict ?? true, settings: one.settings ?? {}, headers: one.headers ?? {} });
}

function expectBuilt(provider: Provider, one: OwnCase, input: StreamInput): void {
  const request = chatOf(provider).build(input);
  expect(request.path).toBe(one.built.path);
  expect(parse(String(request.body))).toEqual(one.built.body);
  expect(request.headers).toMatchObject(one.built.headers ?? {});
}

function expectResult(said: Said, read: { usage: unknown; finishReason: string; model: string }, result: OwnResult): void {
  if (result.text !== undefined) expect(said.text).toBe(result.text);
  if (result.reasoning !== undefined) expect(said.reasoning).toBe(result.reasoning);
  if (result.refusal !== undefined) expect(said.refusal).toBe(result.refusal);
  expect(said.calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }))).toEqual(result.toolCalls ?? []);
  if (result.finishReason !== undefined) {
    expect(read.finishReason).toBe(result.finishReason);
    expect(said.finish).toBe(result.finishReason);
  }
  if (result.model !== undefined) expect(read.model).toBe(result.model);
  if (result.usage !== undefined) expect(read.usage).toMatchObject(result.usage);
}

function expectSameHoweverSplit(provider: Provider, input: StreamInput, body: Buffer, whole: StreamReader): void {
  const surface = chatOf(provider);
  const same = (pieces: Iterable<Buffer>): void => {
    const reader = replay(surface, input, pieces);
    expect(reader.state.text === whole.state.text && reader.state.done === whole.state.done).toBe(true);
  };
  same(byteByByte(body, MOST_SINGLE_BYTES));
  for (const seed of SEEDS) same(seededPieces(body, seed));
  if (body.length > 2048) return;
  for (let at = 1; at < body.length; at++) same([body.subarray(0, at), body.subarray(at)]);
}

const root = process.env["UNIGATE_FIXTURES"] ?? fileURLToPath(new URL("../../../shared/fixtures", import.meta.url));
const present = existsSync(root);
const required = (process.env["UNIGATE_REQUIRE"] ?? "").split(",").includes("fixtures");

describe("recorded traffic", () => {
  if (!present) {
    process.stdout.write(
      `recorded traffic: none at ${root} (UNIGATE_FIXTURES names another place); only the project's own recordings run\n`,
    );
    test("is there when it is required", () => expect(required).toBe(false));
    return;
  }
  const skipped = new Map<string, number>();
  for (const recording of loadRecordings(root, ["chat", "chat-stream", "errors"])) {
    const provider = findProvider(recording.provider);
    const reason = provider === undefined ? `${recording.provider}: no such provider yet` : skipReason(provider, recording);
    if (provider === undefined || reason !== null) {
      skipped.set(reason ?? "", (skipped.get(reason ?? "") ?? 0) + 1);
      continue;
    }
    test(`${recording.provider}/${recording.surface}/${recording.name}`, () => {
      expectRequest(provider, recording);
      if (recording.status >= 400) expectError(provider, recording);
      else if (recording.surface === "chat-stream") expectStream(provider, recording);
      else expectAnswer(provider, recording);
    });
  }
  const lines = [...skipped].map(([reason, count]) => `${reason} (${count})`).sort();
  process.stdout.write(`recorded traffic: skipped ${lines.join("; ")}\n`);
});

/** Why a case belongs to no surface that there is; null when it does. */
function skipReason(provider: Provider, recording: Recording): string | null {
  if (recording.surface === "errors" || recording.status >= 400) return null;
  if (!wireOf(provider).belongs(recording.request.path)) return `${recording.provider}: another wire or endpoint`;
  if (recording.surface === "chat-stream" && !/\.(sse|chunks\.jsonl)$/.test(recording.file))
    return `${recording.provider}: a stream that was answered whole`;
  return null;
}

/** An OpenAI-shaped body that was accepted upstream must go upstream as it is, but for how usage is asked for. */
function expectRequest(provider: Provider, recording: Recording): void {
  const body = recording.request.body;
  const { wire, belongs } = wireOf(provider);
  if (wire !== "openai" || body === null || !Array.isArray(body["messages"]) || !belongs(recording.request.path)) return;
  const input = inputOf(body, {});
  const request = chatOf(provider).build(input);
  const sent = parse(String(request.body));
  const { stream_options: given, ...rest } = body;
  const { stream_options: asked, ...sentRest } = sent;
  expect(sentRest).toEqual(rest);
  expect(request).toMatchObject({ method: recording.request.method, headers: { "content-type": "application/json" } });
  expect(request.headers).not.toHaveProperty("authorization");
  if (isObject(asked)) expect(asked).toEqual({ ...(isObject(given) ? given : {}), include_usage: true });
}

function expectError(provider: Provider, recording: Recording): void {
  const error = provider.readError(recording.status, recording.bytes, recording.headers);
  const body = recording.bytes.toString("utf8");
  expect(error.status).toBe(recording.status);
  expect(error.type).not.toBe("");
  expect(error.message).not.toMatch(/^Invalid response received/);
  const words = /"(?:message|detail|error)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(body)?.[1];
  if (words !== undefined) expect(error.message).toContain(JSON.parse(`"${words}"`));
  const own = Object.values(parse(body)).find(isObject);
  if (error.raw !== undefined) expect(error.raw).toEqual(own);
  if (typeof own?.["code"] === "string") expect(error.code).toBe(own["code"]);
}

/** The recorded body as a client's; a body of another wire is of no use. */
function recordedInput(wire: Wire, recording: Recording, more: Partial<StreamInput>): StreamInput {
  const body = wire === "openai" ? recording.request.body : null;
  return inputOf(body ?? { model: "m", messages: [] }, { stream: recording.surface === "chat-stream", ...more });
}

function expectCalls(told: Said, naive: Said): void {
  expect(told.calls.map((call) => [call.choice, call.name])).toEqual(naive.calls.map((call) => [call.choice, call.name]));
  for (const [at, call] of naive.calls.entries()) {
    const seen = told.calls[at];
    if (call.id !== "") expect(seen?.id).toBe(call.id);
    expect(seen?.id).not.toBe("");
    expect(argumentsOf(seen?.arguments ?? "")).toEqual(argumentsOf(call.arguments === "" ? "{}" : call.arguments));
  }
}

/** Arguments as JSON when they are, else as they came. */
function argumentsOf(text: string): unknown {
  try {
    return JSON.parse(text === "" ? "{}" : text);
  } catch {
    return text;
  }
}

function expectTokens(usage: StreamReader["state"]["usage"], naive: Said): void {
  if (naive.tokens === null) return;
  expect(usage).not.toBeNull();
  if (usage === null) return;
  expect({ prompt: promptTokens(usage), completion: completionTokens(usage) }).toEqual(naive.tokens);
}

function expectAnswer(provider: Provider, recording: Recording): void {
  const { wire } = wireOf(provider);
  const recorded = parse(recording.bytes.toString("utf8"));
  const naive = silence();
  ADD[wire](naive, recorded);
  if (naive.failed) {
    expect(() => chatOf(provider).read(recording.bytes, recordedInput(wire, recording, {}))).toThrow();
    return;
  }
  const reply = chatOf(provider).read(recording.bytes, recordedInput(wire, recording, {}));
  const answer = parse(String(reply.body));
  const told = silence();
  addOpenAi(told, answer);
  expect(told.text).toBe(naive.text);
  expectCalls(told, naive);
  expect(FINISH_REASONS).toContain(told.finish);
  // Gemini sometimes gives none; OpenAI's clients need one.
  const finish = naive.finish === "" && wire === "google" ? "stop" : naive.finish;
  expect([told.finish, reply.finishReason]).toEqual([finish, finish]);
  expect(answer).toMatchObject({ object: "chat.completion" });
  if (wire !== "openai") return;
  expect([told.reasoning, told.refusal]).toEqual([naive.reasoning, naive.refusal]);
  expectTokens(reply.usage, naive);
  const { choices: _, usage: __, object: ___, ...others } = recorded;
  expect(answer).toMatchObject(others);
}

function expectStream(provider: Provider, recording: Recording): void {
  const { wire } = wireOf(provider);
  const surface = chatOf(provider);
  const body = streamBytes(recording);
  const naive = silence();
  const events = eventsOf(body.toString("utf8")).filter((data) => !data.startsWith("[DONE]"));
  for (const data of events) {
    ADD[wire](naive, parse(data));
    if (naive.failed) break;
  }
  for (const clientUsage of [true, false]) {
    const input = recordedInput(wire, recording, { clientUsage });
    const reader = replay(surface, input, [body]);
    expectTold(reader, naive, clientUsage, wire);
    if (clientUsage) expectSameHoweverSplit(provider, input, body, reader);
  }
  expectCut(provider, recordedInput(wire, recording, {}), events, wire);
}

function expectTold(reader: StreamReader, naive: Said, clientUsage: boolean, wire: Wire): void {
  const { said, chunks, terminals } = toldTo(reader.state.text);
  expect(said.text).toBe(naive.text);
  expect(channel(reader, "text")).toBe(naive.text + naive.refusal);
  expectCalls(said, naive);
  const complete = !naive.failed && naive.finish !== "";
  expect({ terminals, done: reader.state.done, failed: reader.state.failure !== null }).toEqual({
    terminals: complete ? 1 : 0,
    done: complete,
    failed: naive.failed,
  });
  if (complete) {
    expect(FINISH_REASONS).toContain(said.finish);
    expect([said.finish, reader.state.finishReason]).toEqual([naive.finish, naive.finish]);
    if (naive.text + naive.reasoning + naive.refusal !== "" || naive.calls.length > 0) expect(reader.state.content).toBe(true);
  }
  const withUsage = chunks.filter((chunk) => chunk["usage"] != null);
  if (complete && reader.state.usage !== null && clientUsage) {
    expect(withUsage).toEqual([chunks.at(-1)]);
    expect(withUsage[0]?.["choices"]).toEqual([]);
  } else expect(withUsage).toEqual([]);
  const assembled = silence();
  addOpenAi(assembled, reader.assembled());
  expect({ text: assembled.text, calls: assembled.calls, finish: assembled.finish }).toEqual({
    text: said.text,
    calls: [...said.calls].sort((a, b) => a.choice - b.choice),
    finish: said.finish,
  });
  if (wire !== "openai" || naive.failed) return;
  expect([said.reasoning, said.refusal, channel(reader, "reasoning")]).toEqual([naive.reasoning, naive.refusal, naive.reasoning]);
  expectTokens(reader.state.usage, naive);
}

/** A stream that breaks off before its finish reason is never told as complete. */
function expectCut(provider: Provider, input: StreamInput, events: readonly string[], wire: Wire): void {
  const before = silence();
  const end = events.findIndex((data) => {
    ADD[wire](before, parse(data));
    return before.finish !== "" || before.failed;
  });
  const names = (data: string): string => (wire === "anthropic" ? `event: ${String(parse(data)["type"])}\n` : "");
  const kept = events.slice(0, Math.max(0, end)).map((data) => `${names(data)}data: ${data}\n\n`);
  const reader = replay(chatOf(provider), input, [Buffer.from(kept.join(""))]);
  expect({ done: reader.state.done, terminals: toldTo(reader.state.text).terminals }).toEqual({ done: false, terminals: 0 });
}
