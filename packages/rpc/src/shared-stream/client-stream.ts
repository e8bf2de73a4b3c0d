import { backgroundCall, type Call } from "@unigate/core";
import { cancelledError, RpcError } from "../errors.ts";
import { cancelTransport, createTransport, failureOfStatus, headersOf, type Link, type Transport } from "../grpc/link.ts";
import { errorOf } from "../grpc/status.ts";
import { decodeMessage } from "../message-size.ts";
import type { Method } from "../method.ts";
import { isTraceparent } from "../traceparent.ts";
import { type AnswerBatch, decodeAnswerBatch, type SharedAnswer } from "./answer-batch.ts";
import { encodeCallBatch, type SharedCall } from "./call-batch.ts";
import { DeadlineSweep } from "./deadline-sweep.ts";
import { BATCH_BYTES, MAX_METHODS, MAX_PENDING_CALLS, MAX_TIMEOUT_MS, MAX_UNSENT_BYTES, MESSAGE_HEAD_BYTES, OPEN_PATH } from "./limits.ts";

/** What becomes of a stream, for whoever opened it. */
export interface StreamEvents {
  /** The server has taken it: calls may be sent. */
  onOpen(): void;
  /** No more calls are to be sent over it, for a good reason; those under way are answered. */
  onLeave(): void;
  /** It ended while it was needed, or was refused. */
  onBroken(error: RpcError): void;
  /** Makes a call in a way of its own: nothing of it was sent, or the server did not begin. */
  plain(method: Method, bytes: Buffer, call: Call): Promise<unknown>;
}

interface PendingCall {
  readonly id: number;
  readonly method: Method;
  readonly bytes: Buffer;
  readonly call: Call;
  readonly deadline: number;
  readonly resolve: (message: unknown) => void;
  readonly reject: (error: unknown) => void;
  unlink: () => void;
  written: boolean;
  /** What came so far of an answer in parts. */
  parts: Buffer[] | null;
  partBytes: number;
}

/** The server does not serve a method over shared streams. */
const UNSERVED = -1;

/** A shared stream on the client. */
export class ClientStream {
  readonly #link: Link;
  readonly #events: StreamEvents;
  readonly #transport: Transport;
  #peer = "";
  #state: "opening" | "open" | "leaving" | "over" = "opening";
  readonly #pending = new Map<number, PendingCall>();
  #queue: PendingCall[] = [];
  #cancelled: number[] = [];
  #flushing = false;
  #lastId = 0;
  readonly #numbers = new Map<string, number>();
  #unsentBatches = 0;
  #unsentBytes = 0;
  readonly #deadlines = new DeadlineSweep<PendingCall>(
    () => this.#pending.values(),
    (pending) => this.#giveUp(pending, cancelledError("deadline")),
  );

  /** Asks the server for a stream. @throws RpcError UNAVAILABLE when the channel was closed. */
  constructor(link: Link, events: StreamEvents) {
    this.#link = link;
    this.#events = events;
    this.#transport = createTransport(link, OPEN, FOR_EVER);
    this.#transport.start(headersOf(link, OPEN, FOR_EVER), {
      onReceiveMetadata: () => this.#opened(),
      onReceiveMessage: (bytes: Buffer) => this.#receive(bytes),
      onReceiveStatus: (status) => this.#ended(status),
    });
    this.#transport.startRead();
  }

  /** Who serves it, once it is open: "host:port". */
  get peer(): string {
    return this.#peer;
  }

  /** Whether calls wait for the end of this turn of the event loop, so that another would cost little. */
  get isCollecting(): boolean {
    return this.#queue.length > 0;
  }

  hasRoomFor(method: Method): boolean {
    if (this.#state !== "open" || this.#unsentBytes >= MAX_UNSENT_BYTES || this.#pending.size >= MAX_PENDING_CALLS) return false;
    const number = this.#numbers.get(method.path);
    return number === undefined ? this.#numbers.size < MAX_METHODS : number !== UNSERVED;
  }

  /** Makes a call. Only when there is room for it. */
  unary(method: Method, bytes: Buffer, call: Call): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      const pending: PendingCall = {
        id: this.#lastId,
        method,
        bytes,
        call,
        deadline: call.deadline,
        resolve,
        reject,
        unlink: nothing,
        written: false,
        parts: null,
        partBytes: 0,
      };
      pending.unlink = call.cancel.onCancel((reason) => this.#giveUp(pending, cancelledError(reason)));
      this.#pending.set(pending.id, pending);
      this.#queue.push(pending);
      this.#deadlines.watch(pending.deadline);
      this.#flushSoon();
    });
  }

  /** Sends no more calls; the stream ends once those under way are answered. */
  leave(): void {
    if (this.#state === "over" || this.#state === "leaving") return;
    const opening = this.#state === "opening";
    this.#state = "leaving";
    this.#events.onLeave();
    if (opening) cancelTransport(this.#transport);
    else this.#endWhenAnswered();
  }

  #opened(): void {
    if (this.#state !== "opening") return;
    this.#state = "open";
    this.#peer = this.#transport.getPeer();
    this.#events.onOpen();
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    if (this.#state === "over") return;
    let calls: SharedCall[] = [];
    let size = 0;
    const queue = this.#queue;
    this.#queue = [];
    const now = Date.now();
    for (const pending of queue) {
      if (!this.#pending.has(pending.id)) continue;
      if (this.#numbers.get(pending.method.path) === UNSERVED) {
        this.#unserved(pending);
        continue;
      }
      pending.written = true;
      calls.push(this.#shared(pending, now));
      size += pending.bytes.length + MESSAGE_HEAD_BYTES;
      if (size < BATCH_BYTES) continue;
      this.#send(calls, []);
      calls = [];
      size = 0;
    }
    const cancelled = this.#cancelled;
    this.#cancelled = [];
    if (calls.length > 0 || cancelled.length > 0) this.#send(calls, cancelled);
    else this.#endWhenAnswered();
  }

  #shared({ id, method, bytes, call }: PendingCall, now: number): SharedCall {
    let number = this.#numbers.get(method.path);
    const isNew = number === undefined;
    number ??= this.#numbers.size;
    if (isNew) this.#numbers.set(method.path, number);
    const left = Math.max(1, Math.ceil(call.deadline - now));
    return {
      id,
      method: number,
      path: isNew ? method.path : "",
      timeoutMs: left > MAX_TIMEOUT_MS ? 0 : left,
      traceparent: isTraceparent(call.traceparent) ? call.traceparent : "",
      payload: bytes,
    };
  }

  #send(calls: readonly SharedCall[], cancelled: readonly number[]): void {
    const bytes = encodeCallBatch({ calls, cancelled });
    this.#unsentBatches += 1;
    this.#unsentBytes += bytes.length;
    this.#transport.sendMessageWithContext(
      {
        callback: () => {
          this.#unsentBatches -= 1;
          this.#unsentBytes -= bytes.length;
          this.#endWhenAnswered();
        },
      },
      bytes,
    );
  }

  #receive(bytes: Buffer): void {
    // What was not read would keep the end of the stream back.
    if (this.#state === "over") return this.#transport.startRead();
    let batch: AnswerBatch;
    try {
      batch = decodeAnswerBatch(bytes);
    } catch {
      return cancelTransport(this.#transport);
    }
    for (const answer of batch.answers) this.#answered(answer);
    if (batch.draining) this.leave();
    this.#endWhenAnswered();
    this.#transport.startRead();
  }

  #answered(answer: SharedAnswer): void {
    const pending = this.#pending.get(answer.id);
    if (pending === undefined) return;
    if (answer.unserved) return this.#unserved(pending);
    if (answer.more || pending.parts !== null) {
      pending.parts ??= [];
      pending.parts.push(answer.payload);
      pending.partBytes += answer.payload.length;
      if (pending.partBytes > this.#link.maxBytes) return this.#giveUp(pending, tooLarge(pending.method, this.#link.maxBytes));
      if (answer.more) return;
    }
    this.#finish(pending);
    if (answer.status !== 0) {
      return pending.reject(failureOfStatus({ code: answer.status, details: answer.message }, pending.call));
    }
    try {
      const payload = pending.parts === null ? answer.payload : Buffer.concat(pending.parts);
      pending.resolve(decodeMessage(pending.method, pending.method.response, payload));
    } catch (error) {
      pending.reject(error);
    }
  }

  #unserved(pending: PendingCall): void {
    this.#numbers.set(pending.method.path, UNSERVED);
    this.#finish(pending);
    this.#callPlainly(pending);
  }

  #callPlainly(pending: PendingCall): void {
    this.#events.plain(pending.method, pending.bytes, pending.call).then(pending.resolve, pending.reject);
  }

  /** Nobody waits any more. The server is told, unless it has never heard of the call. */
  #giveUp(pending: PendingCall, error: RpcError): void {
    if (!this.#pending.has(pending.id)) return;
    this.#finish(pending);
    pending.reject(error);
    if (!pending.written || this.#state === "over") return;
    this.#cancelled.push(pending.id);
    this.#flushSoon();
  }

  #finish(pending: PendingCall): void {
    this.#pending.delete(pending.id);
    pending.unlink();
  }

  #endWhenAnswered(): void {
    // grpc-js would lose messages that it has not passed on when it is told of the end.
    if (this.#state !== "leaving" || this.#pending.size > 0 || this.#flushing || this.#unsentBatches > 0) return;
    this.#state = "over";
    this.#deadlines.stop();
    this.#transport.halfClose();
  }

  #ended(status: { code: number; details: string }): void {
    const wasNeeded = this.#state === "opening" || this.#state === "open";
    this.#state = "over";
    this.#deadlines.stop();
    const pending = [...this.#pending.values()];
    for (const one of pending) {
      this.#finish(one);
      if (one.written) one.reject(new RpcError("UNAVAILABLE", status.details === "" ? "The connection broke." : status.details));
      else this.#callPlainly(one);
    }
    if (wasNeeded) this.#events.onBroken(errorOf(status));
  }
}

function tooLarge(method: Method, maxBytes: number): RpcError {
  return new RpcError("RESOURCE_EXHAUSTED", `${method.label}: the answer is over the limit of ${maxBytes} bytes.`);
}

const OPEN = { path: OPEN_PATH };

const FOR_EVER = backgroundCall();

function nothing(): void {}
