import type { Credentials, JsonObject, Usage } from "@unigate/core";

/** Non-secret settings of a target by config field name (`resource_name`, `cloud_region`...). */
export type Settings = Readonly<Record<string, unknown>>;

/** The endpoints that are translated. Everything else is proxied. */
export type SurfaceName = "chat";

/** What a surface is given to build an upstream request from. */
export interface BuildInput {
  /** The client's body in the surface's own (OpenAI) shape, as bytes. */
  readonly body: Buffer;
  /** The same, parsed: once per process. Never changed. */
  readonly json: JsonObject;
  /** Model to call, "@slug/" removed. */
  readonly model: string;
  readonly stream: boolean;
  /** The client asked for usage in the stream (`stream_options.include_usage`). */
  readonly clientUsage: boolean;
  /** Strict OpenAI compatibility: no extra fields in answers. Default true. */
  readonly strict: boolean;
  readonly settings: Settings;
  /** Provider-specific client headers that may matter (`anthropic-beta`), lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Unix seconds of the exchange, for answers whose provider gives no time. */
  readonly created: number;
}

/** An upstream request before it is joined to a base URL and signed. Header names are lower case. */
export interface UpstreamRequest {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Appended to the base URL; starts with "/" and may hold a query. */
  path: string;
  headers: Record<string, string>;
  /** The client's own buffer when nothing had to change. */
  body: Buffer | null;
}

/** A 2xx unary answer in the client's shape. */
export interface SurfaceReply {
  /** The upstream's own buffer when nothing had to change. */
  readonly body: Buffer;
  readonly usage: Usage | null;
  readonly model: string;
  readonly finishReason: string;
}

/** A provider's refusal in the gateway's words. */
export interface ProviderError {
  readonly status: number;
  readonly message: string;
  /** "rate_limit_error"; see core `typeOfStatus`. */
  readonly type: string;
  readonly param: string | null;
  /** The provider's own code, status word or kind. */
  readonly code: string | null;
  /** A wait the provider named inside the body (Gemini RetryInfo); headers are read elsewhere. */
  readonly retryAfterMs?: number;
  /** OpenAI-compatible providers: their own error object, kept whole. */
  readonly raw?: JsonObject;
}

/** Text produced by a stream, for guardrails. `channel`: "text", "reasoning", "tool:0". */
export interface StreamDelta {
  choice: number;
  channel: string;
  text: string;
}

/**
 * What a stream has said so far. A reader changes it in place; the connector takes `text` and `deltas` after each
 * network read and empties them.
 */
export interface StreamState {
  /** Whole SSE events in the client's dialect, not yet taken. */
  text: string;
  /** Not yet taken; stays empty unless asked for. */
  deltas: StreamDelta[];
  /** True from the first event on that holds content (text, reasoning, tool call, refusal). */
  content: boolean;
  /** True when the provider's own terminal event was seen. */
  done: boolean;
  /** An error inside the stream. */
  failure: ProviderError | null;
  usage: Usage | null;
  finishReason: string;
  model: string;
}

/** Reads one upstream stream. One instance a response. */
export interface StreamReader {
  readonly state: StreamState;
  /** One upstream event: its SSE `event:` name ("" when none) and its data. Never throws on bad data: sets `failure`. */
  event(name: string, data: string): void;
  /**
   * The upstream closed. When the protocol's end was reached (or the finish reason was seen, for providers
   * without a terminal event) sets `done` and writes what the client still needs (`[DONE]`); else leaves `done` false.
   */
  end(): void;
  /** The unary answer that the stream amounts to so far. */
  assembled(): JsonObject;
}

/** What a reader of streams needs to know. */
export interface StreamInput extends BuildInput {
  /** Fill `state.deltas`. */
  readonly wantDeltas: boolean;
  /** Keep what `assembled` needs. */
  readonly wantAssembled: boolean;
}

/** One translated endpoint of a provider. Pure: no I/O, no clock. */
export interface Surface {
  build(input: BuildInput): UpstreamRequest;
  /** Throws when the body is no answer of this provider; the connector makes that 502 `upstream_invalid`. */
  read(body: Buffer, input: BuildInput): SurfaceReply;
  stream(input: StreamInput): StreamReader;
  /** How upstream events are framed; SSE when absent. */
  readonly framing?: "sse" | "ndjson";
}

/** Puts the credential on a request. May be asynchronous (token exchanges). */
export interface Auth {
  /** Config field names it can use; the first is the one an `Authorization: Bearer` of the client fills. */
  readonly fields: readonly string[];
  apply(request: UpstreamRequest, credentials: Credentials, settings: Settings): void | Promise<void>;
}

/** An answer made without any network (the `mock` provider). */
export interface LocalAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Unary: one piece. Streams: pieces of bytes, each sent `afterMs` after the one before. */
  readonly pieces: readonly { readonly afterMs: number; readonly data: Buffer }[];
  /** Ends as a broken connection would. */
  readonly cut?: boolean;
  /** Wait before the head, ms. */
  readonly delayMs?: number;
}

/** A model provider: data first, functions second. */
export interface Provider {
  /** Identifier of behaviour section 8: "openai", "together-ai". The folder or vendor entry has the same name. */
  readonly id: string;
  /** Other names that are understood: "together". */
  readonly aliases: readonly string[];
  readonly title: string;
  /** Version segment included; null = a custom host is needed. No trailing slash. */
  readonly baseUrl: string | null;
  /** Works without any credential. */
  readonly keyless: boolean;
  readonly auth: Auth;
  readonly surfaces: Readonly<Partial<Record<SurfaceName, Surface>>>;
  /** A non-2xx body in the gateway's words; never throws, whatever the bytes. `headers` are lower case. */
  readError(status: number, body: Buffer, headers: Readonly<Record<string, string>>): ProviderError;
  /** Ids that /v1/models shows. */
  readonly models: readonly string[];
  /** Environment variable that registers this provider ("OPENAI_API_KEY"). */
  readonly envKey: string | null;
  /** Present = no network is used. */
  local?(request: UpstreamRequest, surface: SurfaceName | "proxy"): LocalAnswer;
}

type Optional = "aliases" | "keyless" | "surfaces" | "models" | "envKey";

/** Fills the defaults of a provider. */
export function defineProvider(spec: Omit<Provider, Optional> & Partial<Pick<Provider, Optional>>): Provider {
  return { aliases: [], keyless: false, surfaces: {}, models: [], envKey: null, ...spec };
}
