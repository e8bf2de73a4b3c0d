import type { Chunk, End, Failure, Header, Usage } from "@unigate/contracts";
import type { GatewayError } from "@unigate/core";

/** A stream whose head has come and whose content is on its way. */
export interface OpenStream {
  /** Chunks and at last the end. Must be read to its end or returned. */
  readonly parts: AsyncIterator<{ chunk?: Chunk; end?: End }>;
}

/** The outcome of one attempt, whoever made it: the upstream, a hook, a limit or a timeout. */
export interface AttemptResult {
  readonly status: number;
  /** Of the upstream, or of the cache entry. */
  readonly headers: readonly Header[];
  /** Null while `stream` is open. */
  readonly body: Buffer | null;
  readonly stream: OpenStream | null;
  /** Set when the outcome is an error that the gateway made or translated. */
  readonly failure: Failure | null;
  readonly retryAfterMs: number | null;
  readonly usage: Usage | null;
  readonly model: string;
  readonly finishReason: string;
  /** A fault of the mesh or a refusal that no other target would change: no fallback (mesh.md section 2). */
  readonly final: boolean;
  /** Time spent with the upstream, whole milliseconds. */
  readonly timings: { readonly upstreamMs: number };
}

const NO_HEADERS: readonly Header[] = [];
const NO_TIMINGS = { upstreamMs: 0 };

/** An attempt that the gateway itself ended with an error. */
export function failedAttempt(error: GatewayError, final = false): AttemptResult {
  return {
    status: error.status,
    headers: NO_HEADERS,
    body: null,
    stream: null,
    failure: { code: error.code, message: error.message, param: error.param ?? "", status: error.status, type: error.type },
    retryAfterMs: error.retryAfterMs,
    usage: null,
    model: "",
    finishReason: "",
    final,
    timings: NO_TIMINGS,
  };
}

/** Whether an outcome counts as success (246 included: a guardrail that failed softly). */
export function succeeded(status: number): boolean {
  return status >= 200 && status < 300;
}
