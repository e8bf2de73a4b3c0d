import type { Call, JsonObject, Secret, TraceContext } from "@unigate/core";
import type { ClientHeaders } from "./client-headers.ts";
import type { Principal } from "./principal.ts";

/** One request as the pipeline sees it: authenticated, checked, free of HTTP. */
export interface GatewayRequest {
  readonly requestId: string;
  readonly surface: "chat" | "proxy";
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below /v1, without the query: "/chat/completions". */
  readonly path: string;
  /** "?a=b" or "". */
  readonly query: string;
  readonly headers: ClientHeaders;
  readonly trace: TraceContext;
  readonly call: Call;
  readonly principal: Principal;
  readonly credential: Secret | null;
  /** The body in memory; null when there is none or it is streamed. */
  readonly body: Buffer | null;
  /** `body` parsed, when it is a JSON object. */
  readonly json: JsonObject | null;
  /** A body that is streamed once, and so gets one attempt. */
  readonly upload: AsyncIterable<Buffer> | null;
  /** The client's own metadata header. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The client's own timeout for each attempt, ms; null = as the config says. */
  readonly requestTimeoutMs: number | null;
  /** Whether the answer tells how its target was found (`x-gateway-debug-decision`). */
  readonly tellDecision: boolean;
  /** Unix ms. */
  readonly receivedAt: number;
}

/** What the pipeline answers: one body, or a stream that must be read to its end or returned. */
export type GatewayReply =
  | (ReplyHead & { readonly kind: "unary"; readonly body: Buffer })
  | (ReplyHead & { readonly kind: "stream"; readonly chunks: AsyncIterable<Uint8Array> });

interface ReplyHead {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** Name and value of what follows the body; null = nothing. */
  readonly trailer: [string, string] | null;
}

/** Flat pairs, as node:http takes them: name, value, name, value. */
export type ReplyHeaders = string[];
