import type { BodyConsumer, Exchange } from "./exchange.ts";
import { failed, SendError, type SendFailure } from "./send-failure.ts";

const EMPTY = Buffer.alloc(0);

/** Collects a whole body. */
export class WholeBody implements BodyConsumer {
  private readonly chunks: Buffer[] = [];
  private length = 0;
  private readonly exchange: Exchange;
  private readonly maxBytes: number;
  private readonly settle: (outcome: Buffer | SendFailure) => void;

  constructor(exchange: Exchange, maxBytes: number, settle: (outcome: Buffer | SendFailure) => void) {
    this.exchange = exchange;
    this.maxBytes = maxBytes;
    this.settle = settle;
  }

  onData(chunk: Buffer): void {
    this.length += chunk.length;
    if (this.length <= this.maxBytes) {
      this.chunks.push(chunk);
      return;
    }
    this.settle(failed("too_large", true, new Error(`The answer is larger than ${this.maxBytes} bytes.`)));
    this.exchange.cancel();
  }

  onEnd(): void {
    const [first] = this.chunks;
    if (first === undefined) this.settle(EMPTY);
    else this.settle(this.chunks.length === 1 ? first : Buffer.concat(this.chunks, this.length));
  }

  onError(failure: SendFailure): void {
    this.settle(failure);
  }
}

/** Bytes queued for `for await` before the exchange is paused. */
const QUEUED_BYTES = 64 * 1024;

/** Queue between a body and `for await`. */
class IteratedBody implements BodyConsumer {
  private readonly exchange: Exchange;
  private readonly chunks: Buffer[] = [];
  private queued = 0;
  private outcome: SendFailure | "end" | null = null;
  private wake: (() => void) | null = null;

  constructor(exchange: Exchange) {
    this.exchange = exchange;
  }

  onData(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.queued += chunk.length;
    if (this.queued >= QUEUED_BYTES) this.exchange.pause();
    this.wake?.();
  }

  onEnd(): void {
    this.outcome = "end";
    this.wake?.();
  }

  onError(failure: SendFailure): void {
    this.outcome = failure;
    this.wake?.();
  }

  /** The next chunk; null at the end. */
  async next(): Promise<Buffer | null> {
    while (true) {
      const chunk = this.chunks.shift();
      if (chunk !== undefined) {
        this.queued -= chunk.length;
        return chunk;
      }
      if (this.outcome === "end") return null;
      if (this.outcome !== null) throw new SendError(this.outcome);
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        this.exchange.resume();
      });
      this.wake = null;
    }
  }
}

/** The body of `exchange` chunk by chunk; leaving the loop early cancels. */
export async function* iterateBody(exchange: Exchange): AsyncGenerator<Buffer, void, void> {
  const body = new IteratedBody(exchange);
  exchange.consume(body);
  let finished = false;
  try {
    for (let chunk = await body.next(); chunk !== null; chunk = await body.next()) yield chunk;
    finished = true;
  } finally {
    if (!finished) exchange.cancel();
  }
}
