import type { End, Head, InvokeRequest, ReplyPart } from "@unigate/contracts";
import { backgroundCall } from "@unigate/core";
import { type BuildInput, findProvider } from "@unigate/providers";
import { describe, expect, test } from "vitest";
import { localExchange } from "./local-exchange.ts";
import { maskOf } from "./mask-secrets.ts";
import type { Prepared } from "./prepare.ts";
import { readStream } from "./read-stream.ts";

interface Seen {
  readonly head: Head | null;
  readonly text: string;
  readonly end: End | null;
}

/** What a client of the connector sees of a stream that comes in these pieces. */
async function read(
  providerId: string,
  pieces: readonly Buffer[],
  over: { firstTokenMs?: number; cut?: boolean; afterMs?: number } = {},
): Promise<Seen> {
  const provider = findProvider(providerId);
  const surface = provider?.surfaces.chat;
  if (provider === undefined || surface === undefined) throw new Error(`${providerId} has no chat`);
  const input: BuildInput = {
    body: Buffer.from("{}"),
    json: {},
    model: "m",
    stream: true,
    clientUsage: false,
    strict: true,
    settings: {},
    headers: {},
    created: 1,
  };
  const prepared: Prepared = {
    provider,
    surface,
    input,
    request: { method: "POST", path: "/", headers: {}, body: null },
    destination: { origin: "https://provider.example", path: "/", trusted: true },
    mask: () => maskOf({}),
  };
  const call = backgroundCall();
  const answer = { status: 200, headers: {}, pieces: pieces.map((data) => ({ afterMs: over.afterMs ?? 0, data })), cut: over.cut ?? false };
  const timeouts = { connectMs: 0, headersMs: 0, firstTokenMs: over.firstTokenMs ?? 0, idleMs: 0, holdMs: 0 };
  const request: InvokeRequest = {
    attemptId: "a",
    tenant: undefined,
    target: undefined,
    surface: "chat",
    method: "POST",
    pathAndQuery: "",
    headers: [],
    body: input.body,
    drop: [],
    timeouts,
    want: undefined,
  };
  return seenOf(readStream(request, prepared, surface, localExchange(answer, 1, call), call));
}

async function seenOf(parts: AsyncIterable<ReplyPart>): Promise<Seen> {
  let head: Head | null = null;
  let end: End | null = null;
  const pieces: Buffer[] = [];
  for await (const { part } of parts) {
    if (part?.$case === "head") head = part.value;
    else if (part?.$case === "chunk") pieces.push(part.value.data);
    else if (part?.$case === "end") end = part.value;
  }
  return { head, text: Buffer.concat(pieces).toString("utf8"), end };
}

const events = (...list: unknown[]): string =>
  list.map((data) => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`).join("");
const named = (...list: { type: string }[]): string =>
  list.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`).join("");

const chunk = (delta: object, finish: string | null = null): object => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const ROLE = chunk({ role: "assistant", content: "" });
const START = { type: "message_start", message: { id: "msg", model: "m", usage: { input_tokens: 1 } } };
const BLOCK = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
const TEXT = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "héllo" } };
const OVERLOADED = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
const kind = (type: string): { type: string } => ({ type: "error", error: { type, message: "no" } }) as { type: string };
const candidate = { candidates: [{ content: { parts: [{ text: "Once" }] }, index: 0 }], modelVersion: "m" };
const BUSY = { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } };

const EARLY: [string, string, string, number][] = [
  ["an error at once", "anthropic", named(OVERLOADED), 529],
  ["an error behind the start and a ping", "anthropic", named(START, { type: "ping" }, OVERLOADED), 529],
  ["an error behind an empty block", "anthropic", named(START, BLOCK, OVERLOADED), 529],
  ["a rate limit", "anthropic", named(START, kind("rate_limit_error")), 429],
  ["an error of the provider", "anthropic", named(START, kind("api_error")), 500],
  ["a key that is not valid", "anthropic", named(kind("authentication_error")), 401],
  ["an error of a kind that nobody knows", "anthropic", named(kind("new_error")), 500],
  ["an error at once", "openai", events({ error: { message: "busy", type: "overloaded_error", code: null } }), 529],
  ["an error behind the role", "openai", events(ROLE, { error: { message: "slow", type: "rate_limit_error" } }), 429],
  ["an error with a status of its own", "openai", events({ error: { message: "no", code: 503 } }), 503],
  [
    "an error behind comments",
    "openai",
    `: processing\n\n: processing\n\n${events({ error: { message: "no", type: "server_error" } })}`,
    500,
  ],
  [
    "an error and then more",
    "openai",
    events({ error: { message: "no", type: "server_error" } }, chunk({ content: "late" }), "[DONE]"),
    500,
  ],
  ["an error at once", "google", events(BUSY), 503],
  ["an error in a list", "google", events([BUSY]), 503],
  ["what nobody can read", "openai", events("{oops"), 502],
  ["no end", "openai", events(ROLE), 502],
  ["nothing", "anthropic", "", 502],
];

const LATE: [string, string, string, number, string][] = [
  ["a block of text", "anthropic", named(START, BLOCK, TEXT, OVERLOADED), 529, "héllo"],
  [
    "a thought that is not shown",
    "anthropic",
    named(START, { ...BLOCK, content_block: { type: "thinking", thinking: "" } } as { type: string }, OVERLOADED),
    529,
    "assistant",
  ],
  [
    "a chunk of text",
    "openai",
    events(ROLE, chunk({ content: "héllo" }), { error: { message: "busy", type: "overloaded_error" } }),
    529,
    "héllo",
  ],
  [
    "a tool call",
    "openai",
    events(chunk({ tool_calls: [{ index: 0, id: "t", type: "function", function: { name: "f", arguments: "" } }] }), {
      error: { message: "no", code: 503 },
    }),
    503,
    '"f"',
  ],
  ["a candidate", "google", events(candidate, BUSY), 503, "Once"],
];

/** All ways to cut the bytes in two, and byte after byte. */
function* cuts(bytes: Buffer): Generator<Buffer[]> {
  for (let at = 1; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)];
  yield Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}

describe("an error before content is the outcome of the attempt, however the bytes are cut", () => {
  test.each(EARLY)("%s (%s)", async (_, provider, text, status) => {
    const bytes = Buffer.from(text);
    const whole = await read(provider, [bytes]);
    expect(whole.head).toMatchObject({ status, failure: { status } });
    expect(JSON.parse(whole.text)).toMatchObject({ error: { message: expect.any(String) }, provider });
    expect(whole.end).toMatchObject({ complete: false, failure: { status } });
    for (const pieces of cuts(bytes)) expect(await read(provider, pieces)).toEqual(whole);
  });
});

describe("an error after content is told inside the stream, however the bytes are cut", () => {
  test.each(LATE)("behind %s (%s)", async (_, provider, text, status, part) => {
    const bytes = Buffer.from(text);
    const whole = await read(provider, [bytes]);
    expect(whole.head).toMatchObject({ status: 200, failure: undefined });
    expect(whole.text).toContain(part);
    expect(whole.text).not.toContain("[DONE]");
    expect(whole.end).toMatchObject({ complete: false, failure: { status } });
    for (const pieces of cuts(bytes)) expect(await read(provider, pieces)).toEqual(whole);
  });
});

test.each([
  ["openai", events(ROLE, chunk({ content: "héllo" }), chunk({}, "stop"), "[DONE]")],
  [
    "anthropic",
    named(START, BLOCK, TEXT, { type: "message_delta", delta: { stop_reason: "end_turn" } } as { type: string }, { type: "message_stop" }),
  ],
])("a whole stream is a success, however the bytes are cut (%s)", async (provider, text) => {
  const bytes = Buffer.from(text);
  const whole = await read(provider, [bytes]);
  expect(whole.head?.status).toBe(200);
  expect(whole.text.endsWith("data: [DONE]\n\n")).toBe(true);
  expect(whole.end).toMatchObject({ complete: true, failure: undefined });
  for (const pieces of cuts(bytes)) expect(await read(provider, pieces)).toEqual(whole);
});

describe("what is held before content", () => {
  test("is bounded: past 64 KiB the stream has begun, and an error is told inside it", async () => {
    const hollow = Array.from({ length: 1_000 }, () => Buffer.from(events(ROLE)));
    const seen = await read("openai", [...hollow, Buffer.from(events({ error: { message: "no", code: 503 } }))]);
    expect(seen.head?.status).toBe(200);
    expect(seen.text.split("assistant").length - 1).toBe(1_000);
    expect(seen.end).toMatchObject({ complete: false, failure: { status: 503 } });
  });

  test("does not grow by what is no event for the client", async () => {
    const comments = Array.from({ length: 2_000 }, () => Buffer.from(`: ${"x".repeat(100)}\n\n`));
    const seen = await read("openai", [...comments, Buffer.from(events({ error: { message: "no", code: 503 } }))]);
    expect(seen.head?.status).toBe(503);
  });

  test("waits no longer than for the first token: 408", async () => {
    const seen = await read("openai", [Buffer.from(events(ROLE)), Buffer.from(events(chunk({ content: "late" })))], {
      firstTokenMs: 20,
      afterMs: 200,
    });
    expect(seen.head).toMatchObject({ status: 408, failure: { code: "request_timeout" } });
  });

  test("is no answer when the connection breaks", async () => {
    const seen = await read("openai", [Buffer.from(events(ROLE))], { cut: true });
    expect(seen.head).toMatchObject({ status: 502, failure: { code: "upstream_incomplete" } });
  });
});
