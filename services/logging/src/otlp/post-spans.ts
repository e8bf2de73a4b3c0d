import { ExportTraceServiceResponse } from "@unigate/contracts";
import type { Call, Secret } from "@unigate/core";
import { retryAfterMs, type Sender } from "@unigate/http";

/** The collector, by OTLP over HTTP. */
export interface Collector {
  /** "/v1/traces" comes behind it. */
  readonly endpoint: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, Secret>>;
  readonly sender: Sender;
}

/** What a collector made of a batch. */
export type PostOutcome =
  | { readonly kind: "accepted" /** Spans that it takes none of, at no time. */; readonly rejected: number }
  /** Another time it may take it. `afterMs`: the wait that it named. */
  | { readonly kind: "later"; readonly afterMs: number | null; readonly why: string }
  | { readonly kind: "refused"; readonly why: string };

export type PostSpans = (body: Buffer, call: Call) => Promise<PostOutcome>;

const CONNECT_MS = 3_000;
const HEADERS_MS = 8_000;
const MAX_ANSWER = 64 * 1024;
/** By the OTLP specification. */
const LATER: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export function postSpans({ endpoint, headers, sender }: Collector): PostSpans {
  const url = new URL(`${endpoint}/v1/traces`);
  return async (body, call) => {
    const given: Record<string, string> = { "content-type": "application/x-protobuf", "user-agent": "unigate" };
    for (const name in headers) given[name] = headers[name]?.reveal() ?? "";
    const exchange = await sender.send(
      {
        method: "POST",
        url,
        headers: given,
        body,
        connectTimeoutMs: CONNECT_MS,
        headersTimeoutMs: HEADERS_MS,
        // The operator's own address, not a user's.
        trusted: true,
      },
      call,
    );
    if (exchange.kind === "failed")
      return { kind: exchange.code === "invalid_request" ? "refused" : "later", afterMs: null, why: exchange.code };
    const { status } = exchange;
    const answer = await exchange.readAll(MAX_ANSWER);
    if (LATER.has(status)) return { kind: "later", afterMs: retryAfterMs(exchange.headers, Date.now()), why: String(status) };
    if (status < 200 || status > 299) return { kind: "refused", why: String(status) };
    return { kind: "accepted", rejected: Buffer.isBuffer(answer) ? rejectedSpans(answer) : 0 };
  };
}

/** An answer that is none of OTLP rejects nothing. */
function rejectedSpans(answer: Buffer): number {
  try {
    return Math.max(0, ExportTraceServiceResponse.decode(answer).partialSuccess?.rejectedSpans ?? 0);
  } catch {
    return 0;
  }
}
