import type { CancelReason } from "@unigate/core";
import type { SendFailure } from "./send-failure.ts";

/** Takes the body of an answer. Exactly one of `onEnd` and `onError` is called, after everything else. */
export interface BodyConsumer {
  /** A piece as it came from the network. What it throws ends the exchange as `unreadable`. */
  onData(chunk: Buffer): void;
  /** The body is whole. */
  onEnd(): void;
  /** The body is not whole: never followed or replaced by `onEnd`. */
  onError(failure: SendFailure): void;
}

/**
 * An answer whose head has come. Its body must be taken by one of `consume`, `readAll` and `body`, or given up with
 * `cancel`: until then the connection is held.
 */
export interface Exchange {
  readonly kind: "exchange";
  readonly status: number;
  /** By lower-case name; values of one name joined with ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Names and values in turn, as received: order, case and repetition kept. */
  readonly rawHeaders: readonly string[];
  /** From `send` to the head, whole ms. */
  readonly upstreamMs: number;
  readonly bytesSent: boolean;
  /** Starts the body, from its first byte. Once. */
  consume(consumer: BodyConsumer): void;
  /** No further `onData` until `resume`; at most 64 KiB more are read from the socket. */
  pause(): void;
  resume(): void;
  /** The whole body, or why there is none. More than `maxBytes` ends the exchange as `too_large`. */
  readAll(maxBytes: number): Promise<Buffer | SendFailure>;
  /** The body, read only as fast as it is taken; throws SendError when it is not whole. `break` cancels. */
  readonly body: AsyncIterable<Buffer>;
  /** Gives the answer up: the socket is destroyed. A consumer gets `onError` with `cancelled`. Default reason "superseded". */
  cancel(reason?: CancelReason): void;
}
