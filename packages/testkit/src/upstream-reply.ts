import type { Recording } from "./fixtures.ts";
import { streamBytes } from "./fixtures.ts";

/** A piece of a scripted body: bytes, a pause in ms, something to wait for (a gate that the test opens), or to do. */
export type Piece = string | Uint8Array | number | Promise<unknown> | (() => void);

/** What an upstream does with a request. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Waited for before the head. */
  readonly before: readonly Piece[];
  readonly pieces: readonly Piece[];
  /** "cut" destroys the socket, "hang" stays silent until the other side leaves. */
  readonly ending: "end" | "cut" | "hang";
  /** Written to the socket in place of a HTTP answer; the socket is then destroyed. */
  readonly raw: Uint8Array | null;
  /** False: nothing is answered at all, `ending` happens at once. */
  readonly head: boolean;
}

const PLAIN: Reply = { status: 200, headers: {}, before: [], pieces: [], ending: "end", raw: null, head: true };

/** A reply of any form; what is not said is 200, no headers, an empty body and a clean end. */
export function reply(over: Partial<Reply>): Reply {
  return { ...PLAIN, ...over };
}

/** One JSON body. */
export function jsonReply(value: unknown, over: Partial<Reply> = {}): Reply {
  return reply({ pieces: [JSON.stringify(value)], ...over, headers: { "content-type": "application/json", ...over.headers } });
}

/** An OpenAI-shaped error. */
export function errorReply(status: number, message: string, headers: Reply["headers"] = {}): Reply {
  return jsonReply({ error: { message, type: "upstream_error", param: null, code: "scripted" } }, { status, headers });
}

/** Server-sent events: objects become `data:` events, texts and bytes go as they are, numbers and promises are waited for. */
export function sseReply(events: readonly (object | Piece)[], over: Partial<Reply> = {}): Reply {
  const pieces = events.map((event) => (isPiece(event) ? event : `data: ${JSON.stringify(event)}\n\n`));
  return reply({ pieces, ...over, headers: { "content-type": "text/event-stream", ...over.headers } });
}

function isPiece(event: object | Piece): event is Piece {
  return typeof event !== "object" || event instanceof Uint8Array || event instanceof Promise;
}

/** Takes the request and never answers. */
export function hangReply(): Reply {
  return reply({ head: false, ending: "hang" });
}

/** Takes the request and resets the connection. */
export function cutReply(): Reply {
  return reply({ head: false, ending: "cut" });
}

/** Answers with something that is no HTTP. */
export function rawReply(text: string): Reply {
  return reply({ raw: Buffer.from(text) });
}

/** A recorded exchange, as the wire carried it. */
export function replay(recording: Recording): Reply {
  const streamed = recording.file === "response.sse" || recording.file === "response.chunks.jsonl";
  const type = streamed ? "text/event-stream" : "application/json";
  const { "content-length": _, "content-encoding": __, "transfer-encoding": ___, ...headers } = recording.headers;
  return reply({
    status: recording.status,
    headers: { "content-type": type, ...headers },
    pieces: [streamed ? streamBytes(recording) : recording.bytes],
  });
}
