import { connect, type Socket } from "node:net";
import type { JsonObject } from "@unigate/core";
import type { Gateway } from "@unigate/testkit";
import { request } from "undici";

/** An answer as it came over the wire. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
  json(): JsonObject;
  /** The `error` object of the envelope. */
  error(): JsonObject;
}

export interface Question {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE" | "PATCH" | "OPTIONS" | "HEAD";
  readonly headers?: Readonly<Record<string, string>>;
  /** Texts and bytes go as they are, anything else as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** One request to a path of the gateway, without any of a client library's own ideas. POST when there is a body. */
export async function send(gateway: Pick<Gateway, "origin">, path: string, question: Question = {}): Promise<Answer> {
  const { body, headers = {}, signal } = question;
  const raw = typeof body === "string" || body instanceof Uint8Array;
  const answer = await request(gateway.origin + path, {
    method: question.method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...(body === undefined || raw ? {} : { "content-type": "application/json" }), ...headers },
    body: body === undefined ? null : raw ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  return answerOf(answer.statusCode, answer.headers, Buffer.from(await answer.body.arrayBuffer()));
}

export function answerOf(status: number, headers: Answer["headers"], bytes: Buffer): Answer {
  const text = bytes.toString("utf8");
  return {
    status,
    headers,
    bytes,
    text,
    json: () => JSON.parse(text) as JsonObject,
    error: () => (JSON.parse(text) as { error: JsonObject }).error,
  };
}

export const QUESTION = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };

/** POST /v1/chat/completions with a gateway key. */
export function chat(gateway: Gateway, key: string, headers: Readonly<Record<string, string>>, body: object = {}): Promise<Answer> {
  return send(gateway, "/v1/chat/completions", { headers: { "x-gateway-api-key": key, ...headers }, body: { ...QUESTION, ...body } });
}

/** Headers that send a request to an OpenAI-shaped upstream with the caller's own credential. */
export function toUpstream(origin: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { "x-gateway-provider": "openai", authorization: "Bearer sk-upstream", "x-gateway-custom-host": `${origin}/v1`, ...more };
}

/** An inline config as its header. */
export function withConfig(config: object): Record<string, string> {
  return { "x-gateway-config": JSON.stringify(config) };
}

/** A target of an inline config that is the upstream. */
export function target(origin: string, over: object = {}): Record<string, unknown> {
  return { provider: "openai", api_key: "sk-upstream", custom_host: `${origin}/v1`, ...over };
}

/** A connection of its own, for requests that no client library would send. */
export interface RawConnection {
  write(bytes: string | Uint8Array): void;
  /** All that came so far. */
  received(): string;
  endsWith(text: string): boolean;
  readonly closed: boolean;
  /** Stops and starts reading. */
  pause(): void;
  resume(): void;
  /** Leaves without a word. */
  leave(): void;
}

export function openConnection(gateway: Gateway): RawConnection {
  const pieces: Buffer[] = [];
  let closed = false;
  const socket: Socket = connect(gateway.port, "127.0.0.1");
  socket.on("data", (piece) => pieces.push(piece));
  socket.on("close", () => {
    closed = true;
  });
  socket.on("error", () => {});
  return {
    write: (bytes) => void socket.write(bytes),
    received: () => Buffer.concat(pieces).toString("utf8"),
    // Asked again and again of what may be long.
    endsWith: (text) => Buffer.concat(pieces.slice(-2)).toString("latin1").endsWith(text),
    get closed() {
      return closed;
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    leave: () => socket.destroy(),
  };
}

/** The head of a request, by hand. */
export function requestHead(line: string, headers: Readonly<Record<string, string>>): string {
  return `${line} HTTP/1.1\r\n${Object.entries({ host: "gateway", ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;
}

/** The payloads of the events of a stream, comments left out. */
export function eventsOf(text: string): string[] {
  return text
    .split("\n\n")
    .map((event) =>
      event
        .split("\n")
        .filter((line) => line.startsWith("data: "))
        .map((line) => line.slice(6))
        .join("\n"),
    )
    .filter((data) => data !== "");
}

/** The text that the events of a stream hold, and whether the stream ended in [DONE]. */
export function readStream(text: string): { content: string; chunks: JsonObject[]; done: boolean; error: JsonObject | null } {
  const events = eventsOf(text);
  const chunks = events.filter((data) => data !== "[DONE]").map((data) => JSON.parse(data) as JsonObject);
  const content = chunks
    .map((chunk) => (chunk["choices"] as { delta?: { content?: string } }[] | undefined)?.[0]?.delta?.content ?? "")
    .join("");
  const error = (chunks.find((chunk) => chunk["error"] !== undefined)?.["error"] as JsonObject | undefined) ?? null;
  return { content, chunks, done: events.at(-1) === "[DONE]", error };
}
