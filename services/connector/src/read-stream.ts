import { Blame, type InvokeRequest, type ReplyPart } from "@unigate/contracts";
import { bufferOfJson, type Call, type ErrorCode, GatewayError } from "@unigate/core";
import { createNdjsonParser, createSseParser, type Exchange, type SendFailure } from "@unigate/http";
import type { ProviderError, StreamReader, Surface } from "@unigate/providers";
import { translatedHeaders } from "./answer-headers.ts";
import { failureOf, gatewayFailure, providerFailure } from "./outcome.ts";
import { PartQueue } from "./part-queue.ts";
import { chunkParts, endPart, headPart } from "./parts.ts";
import type { Prepared } from "./prepare.ts";

/** Most characters of events without content that are held back: past them the stream is taken to have begun. */
const MAX_HELD = 64 * 1024;

/**
 * Reads a translated stream. The head goes out when the outcome is known: the first content, an error, a timeout or
 * the end; only events before content are held, never text (mesh.md section 1.10), and no more than `MAX_HELD` of
 * them. Events of one turn of the event loop go out as one chunk.
 */
export function readStream(
  request: InvokeRequest,
  prepared: Prepared,
  surface: Surface,
  answer: Exchange,
  call: Call,
): AsyncIterable<ReplyPart> {
  const reading = new StreamReading(request, prepared, surface, answer, call);
  return reading.queue;
}

class StreamReading {
  readonly queue: PartQueue;
  readonly #prepared: Prepared;
  readonly #answer: Exchange;
  readonly #call: Call;
  readonly #reader: StreamReader;
  readonly #wantAssembled: boolean;
  readonly #idleMs: number;
  #timer: NodeJS.Timeout | null = null;
  #headSent = false;
  #finished = false;
  #flushing = false;

  constructor(request: InvokeRequest, prepared: Prepared, surface: Surface, answer: Exchange, call: Call) {
    this.#prepared = prepared;
    this.#answer = answer;
    this.#call = call;
    this.#wantAssembled = request.want?.assembled ?? false;
    this.#idleMs = request.timeouts?.idleMs ?? 0;
    this.#reader = surface.stream({ ...prepared.input, wantDeltas: request.want?.deltas ?? false, wantAssembled: this.#wantAssembled });
    this.queue = new PartQueue({ pause: () => answer.pause(), resume: () => answer.resume(), cancel: () => this.#abandon() });
    const firstMs = request.timeouts?.firstTokenMs ?? 0;
    if (firstMs > 0) this.#timer = setTimeout(() => this.#timeOut("request_timeout", `No content came within ${firstMs}ms.`), firstMs);
    const reader = this.#reader;
    const parser =
      surface.framing === "ndjson"
        ? createNdjsonParser((line) => reader.event("", line))
        : createSseParser((name, data) => reader.event(name, data));
    answer.consume({
      onData: (chunk) => {
        if (this.#finished) return;
        parser.push(chunk);
        this.#afterRead();
      },
      onEnd: () => {
        if (this.#finished) return;
        parser.end();
        reader.end();
        this.#end();
      },
      onError: (failure) => this.#broke(failure),
    });
  }

  #afterRead(): void {
    const { state } = this.#reader;
    if (state.failure !== null) return this.#fail(state.failure);
    if (state.content || this.#headSent || state.text.length > MAX_HELD) {
      this.#armIdle();
      if (!this.#flushing) {
        this.#flushing = true;
        setImmediate(() => this.#flush());
      }
    }
    if (state.done) this.#end();
  }

  /** From the first content on, silence between two reads ends the stream. */
  #armIdle(): void {
    if (this.#headSent && this.#timer !== null) {
      this.#timer.refresh();
      return;
    }
    if (this.#headSent) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer =
      this.#idleMs > 0 ? setTimeout(() => this.#timeOut("upstream_idle", `Nothing came for ${this.#idleMs}ms.`), this.#idleMs) : null;
    this.#sendHead();
  }

  #sendHead(): void {
    if (this.#headSent) return;
    this.#headSent = true;
    this.queue.push(
      headPart({
        status: 200,
        headers: translatedHeaders(this.#answer.headers),
        blame: Blame.UNSPECIFIED,
        bytesSent: true,
        upstreamMs: this.#answer.upstreamMs,
        transformed: true,
        failure: undefined,
      }),
    );
  }

  #flush(): void {
    this.#flushing = false;
    const { state } = this.#reader;
    if (state.text === "") return;
    const data = Buffer.from(state.text);
    state.text = "";
    for (const part of chunkParts(data)) this.queue.push(part);
  }

  /** The upstream closed, or said its last word. */
  #end(): void {
    const { state } = this.#reader;
    if (state.failure !== null) return this.#fail(state.failure);
    if (!state.done) return this.#gatewayError("upstream_incomplete");
    this.#sendHead();
    this.#flush();
    this.#finish(true, null);
  }

  /** An error inside the stream: the outcome of the attempt before content, an in-band failure after it. */
  #fail(said: ProviderError): void {
    const mask = this.#prepared.mask();
    const error = mask.error(said);
    // However the network cut it: what came after content is no outcome of the attempt any more.
    if (this.#reader.state.content) this.#sendHead();
    if (this.#headSent) {
      this.#flush();
      this.#finish(false, error);
      return;
    }
    const outcome = providerFailure(error, this.#prepared.provider.id, {
      headers: translatedHeaders(this.#answer.headers, mask),
      retryAfterMs: null,
      upstreamMs: this.#answer.upstreamMs,
    });
    this.#headSent = true;
    this.queue.push(headPart(outcome.head));
    for (const part of chunkParts(outcome.body)) this.queue.push(part);
    this.#finish(false, error);
  }

  #gatewayError(code: ErrorCode, message?: string): void {
    if (this.#finished) return;
    const error = new GatewayError(code, message);
    if (this.#headSent) {
      this.#flush();
      this.#finish(false, { status: error.status, message: error.message, type: error.type, param: null, code });
      return;
    }
    const outcome = gatewayFailure(code, this.#prepared.provider.id, {
      message: error.message,
      upstreamMs: this.#answer.upstreamMs,
      bytesSent: true,
      blame: Blame.UPSTREAM,
    });
    this.#headSent = true;
    this.queue.push(headPart(outcome.head));
    for (const part of chunkParts(outcome.body)) this.queue.push(part);
    this.#finish(false, { status: error.status, message: error.message, type: error.type, param: null, code });
  }

  #timeOut(code: ErrorCode, message: string): void {
    this.#gatewayError(code, message);
  }

  #broke(failure: SendFailure): void {
    if (this.#finished) return;
    if (failure.code === "cancelled") {
      this.#gatewayError(
        this.#call.cancel.reason === "deadline"
          ? "upstream_timeout"
          : this.#call.cancel.reason === "shutdown"
            ? "server_shutting_down"
            : "client_closed",
      );
      return;
    }
    this.#gatewayError(failure.code === "unreadable" ? "upstream_invalid" : "upstream_incomplete");
  }

  #finish(complete: boolean, error: ProviderError | null): void {
    if (this.#finished) return;
    this.#finished = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const { state } = this.#reader;
    this.queue.push(
      endPart({
        complete,
        failure: error === null ? null : failureOf(error),
        usage: state.usage,
        finishReason: state.finishReason,
        model: state.model,
        ...(this.#wantAssembled ? { assembled: bufferOfJson(this.#reader.assembled()) } : {}),
      }),
    );
    this.queue.end();
    if (!complete) this.#answer.cancel();
  }

  /** The reader is gone: the upstream connection is closed. */
  #abandon(): void {
    this.#finished = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#answer.cancel();
  }
}
