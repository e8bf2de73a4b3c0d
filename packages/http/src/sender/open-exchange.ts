import { Readable } from "node:stream";
import type { Call, CancelReason } from "@unigate/core";
import type { Dispatcher } from "undici";
import { iterateBody, WholeBody } from "./body-readers.ts";
import type { BodyConsumer, Exchange } from "./exchange.ts";
import { headerRecord, headerTexts } from "./response-headers.ts";
import { failed, failureCode, RequestBodyError, type SendFailure, type SendFailureCode } from "./send-failure.ts";
import type { SendRequest } from "./send-request.ts";

/** Body bytes kept for a consumer that has not come yet, or has paused, before the socket is no longer read. */
const HELD_BYTES = 64 * 1024;

/** What carries an exchange: a place in the queue of its origin first, then a connection. */
export interface Carrier {
  /** The connection had served an exchange before this one. False while there is none. */
  readonly reused: boolean;
  /** The socket took the last write; false when it turned out dead in it. */
  readonly writable: boolean;
  /** The answer is whole: the connection may serve another exchange. */
  release(): void;
  /** The exchange is given up: the connection is destroyed, or the place in the queue freed. */
  discard(): void;
  /** Discards, and carries `exchange` again on a new connection. */
  carryAgain(exchange: OpenExchange): void;
}

type State = "unsent" | "sent" | "body" | "ended" | "failed";

/**
 * One exchange from `send` to the last byte: the handler that undici calls (its native shape: the newer one costs a
 * wrapper and a parsed header object per request) and the `Exchange` that the caller gets. Fields instead of closures,
 * one timer at a time.
 */
export class OpenExchange implements Exchange, Dispatcher.DispatchHandler {
  readonly kind = "exchange";
  status = 0;
  upstreamMs = 0;
  bytesSent = false;

  /** What undici is asked to send. */
  readonly options: Dispatcher.DispatchOptions;
  carrier: Carrier | null = null;

  private readonly request: SendRequest;
  private settle: ((outcome: Exchange | SendFailure) => void) | null;
  private readonly onFinish: () => void;
  private readonly startedAt: number;
  private stopListening: (() => void) | null = null;
  private state: State = "unsent";
  private timer: NodeJS.Timeout | null = null;
  private again = false;

  private head: readonly Buffer[] = [];
  private headerCache: Record<string, string> | null = null;

  private consumer: BodyConsumer | null = null;
  private failure: SendFailure | null = null;
  private held: Buffer[] | null = null;
  private heldBytes = 0;
  private paused = false;
  private pumping = false;
  private delivered = false;
  /** Set while undici reads no further. */
  private stopped = false;
  /** Set once the upstream sends no more. */
  private flushing = false;
  private resumeReading: (() => void) | null = null;

  /** `settle` gets the head or the failure; `onFinish` is called once, when the exchange needs its connection no more. */
  constructor(request: SendRequest, path: string, call: Call, settle: (outcome: Exchange | SendFailure) => void, onFinish: () => void) {
    this.request = request;
    this.settle = settle;
    this.onFinish = onFinish;
    this.startedAt = performance.now();
    const body = request.body === null || Buffer.isBuffer(request.body) ? request.body : streamOf(request.body);
    this.options = { path, method: request.method, headers: request.headers, body };
    this.stopListening = call.cancel.onCancel((reason) => this.giveUp(reason));
  }

  // What the carrier says -------------------------------------------------------------------------------------------

  /** A connection is waited for from now on. */
  waitForConnection(): void {
    if (this.state === "unsent" && this.timer === null) this.startTimer(this.request.connectTimeoutMs);
  }

  /**
   * The upstream sends no more, and undici has all it sent. Let it go on even when paused, before it hears of the end
   * itself: with a paused parser its handling of the end ends the process (an assertion), or takes a whole body for cut.
   * What is left is held, and bounded by what undici has already.
   */
  onSocketEnd(): void {
    if (this.state !== "body") return;
    this.flushing = true;
    if (!this.stopped) return;
    this.stopped = false;
    this.resumeReading?.();
  }

  // What undici says ------------------------------------------------------------------------------------------------

  onConnect(): void {
    // Thrown, not aborted: undici then forgets the request and keeps the connection.
    if (this.state !== "unsent") throw new Error("The exchange was given up before it was sent.");
    this.state = "sent";
    this.clearTimer();
  }

  onBodySent(): void {
    this.noteSent();
  }

  onRequestSent(): void {
    this.noteSent();
    if (this.state === "sent") this.startTimer(this.request.headersTimeoutMs);
  }

  onHeaders(status: number, head: Buffer[], resume: () => void): boolean {
    if (status < 200 || this.state !== "sent") return true;
    this.clearTimer();
    this.state = "body";
    this.status = status;
    this.head = head;
    this.resumeReading = resume;
    this.upstreamMs = Math.round(performance.now() - this.startedAt);
    this.settle?.(this);
    this.settle = null;
    return true;
  }

  onData(chunk: Buffer): boolean {
    // undici gives an empty piece when it reads on after a pause.
    if (chunk.length > 0) {
      if (this.consumer !== null && !this.paused && this.held === null) this.consumer.onData(chunk);
      else this.hold(chunk);
    }
    this.stopped = this.state === "body" && !this.flushing && (this.paused || this.heldBytes >= HELD_BYTES);
    return !this.stopped;
  }

  onComplete(): void {
    if (this.state !== "body") return;
    this.state = "ended";
    this.finish();
    this.carrier?.release();
    this.pump();
  }

  onError(error: Error): void {
    // undici hands back what `onEnd` of the consumer threw: a fault, not an outcome of the exchange.
    if (this.state === "ended") queueMicrotask(() => rethrow(error));
    else {
      const code = failureCode(error, this.state !== "unsent");
      if (code === "invalid_request" || !this.resend()) this.fail(code, error);
    }
  }

  // What the caller says --------------------------------------------------------------------------------------------

  get headers(): Readonly<Record<string, string>> {
    this.headerCache ??= headerRecord(this.head);
    return this.headerCache;
  }

  get rawHeaders(): readonly string[] {
    return headerTexts(this.head);
  }

  consume(consumer: BodyConsumer): void {
    if (this.consumer !== null) throw new Error("The body of an answer can be taken only once.");
    this.consumer = consumer;
    this.pump();
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.pump();
  }

  readAll(maxBytes: number): Promise<Buffer | SendFailure> {
    return new Promise((resolve) => this.consume(new WholeBody(this, maxBytes, resolve)));
  }

  get body(): AsyncIterable<Buffer> {
    return iterateBody(this);
  }

  cancel(reason: CancelReason = "superseded"): void {
    this.giveUp(reason);
  }

  // Inside ----------------------------------------------------------------------------------------------------------

  private giveUp(reason: CancelReason): void {
    if (!this.delivered) this.fail("cancelled", reason);
  }

  /** Ends the exchange without an answer, or without a whole one. Also after the last byte, while some of it is held. */
  private fail(code: SendFailureCode, cause: unknown): void {
    if (this.state === "failed") return;
    if (code !== "reset") {
      // What came before a broken connection is still handed over in its turn; all else is told at once.
      this.held = null;
      this.paused = false;
    }
    const { state } = this;
    this.state = "failed";
    this.failure = failed(code, this.bytesSent, cause);
    if (state !== "ended") {
      this.finish();
      if (state === "unsent" && code === "invalid_request") this.carrier?.release();
      else this.carrier?.discard();
      if (this.options.body instanceof Readable) this.options.body.destroy();
    }
    if (this.settle === null) return this.pump();
    this.settle(this.failure);
    this.settle = null;
  }

  /** A connection that had served before and died before any byte of this request was written: once more, on a new one. */
  private resend(): boolean {
    const { carrier } = this;
    if (this.again || carrier === null || !carrier.reused || this.bytesSent) return false;
    if (this.state !== "unsent" && this.state !== "sent") return false;
    this.again = true;
    this.state = "unsent";
    this.clearTimer();
    carrier.carryAgain(this);
    return true;
  }

  private finish(): void {
    this.clearTimer();
    this.stopListening?.();
    this.stopListening = null;
    this.onFinish();
  }

  private noteSent(): void {
    // Of a stream some may be used up, even when the socket did not take it.
    if (!this.bytesSent) this.bytesSent = this.options.body instanceof Readable || this.carrier?.writable !== false;
  }

  private hold(chunk: Buffer): void {
    this.held ??= [];
    this.held.push(chunk);
    this.heldBytes += chunk.length;
  }

  /** Hands over what is held, then the outcome if there is one, else lets the socket be read on. */
  private pump(): void {
    const { consumer } = this;
    if (consumer === null || this.pumping || this.delivered) return;
    this.pumping = true;
    try {
      for (let chunk = this.nextHeld(); chunk !== undefined; chunk = this.nextHeld()) consumer.onData(chunk);
    } catch (error) {
      this.fail("unreadable", error);
    }
    this.pumping = false;
    if (this.paused) return;
    if (this.state === "ended" || this.failure !== null) this.deliver(consumer);
    else if (this.stopped) this.readOn();
  }

  private nextHeld(): Buffer | undefined {
    if (this.paused || this.held === null) return undefined;
    const chunk = this.held.shift();
    this.heldBytes -= chunk?.length ?? 0;
    if (chunk === undefined) this.held = null;
    return chunk;
  }

  private deliver(consumer: BodyConsumer): void {
    this.delivered = true;
    if (this.failure === null) consumer.onEnd();
    else consumer.onError(this.failure);
  }

  private readOn(): void {
    this.stopped = false;
    // In a microtask: undici asserts that no other answer is being parsed when one is resumed.
    if (this.resumeReading !== null) queueMicrotask(this.resumeReading);
  }

  private startTimer(ms: number): void {
    if (ms > 0) this.timer = setTimeout(timeOut, ms, this);
  }

  private clearTimer(): void {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
  }

  /** Called by the timer. */
  timedOut(): void {
    this.timer = null;
    this.fail(this.state === "unsent" ? "connect_timeout" : "headers_timeout", null);
  }
}

function timeOut(exchange: OpenExchange): void {
  exchange.timedOut();
}

function rethrow(error: unknown): never {
  throw error;
}

/** A stream of a request body whose errors can be told from those of the connection. */
function streamOf(body: AsyncIterable<Buffer>): Readable {
  return Readable.from(taggingErrors(body));
}

async function* taggingErrors(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    throw new RequestBodyError("The source of the request body failed.", { cause: error });
  }
}
