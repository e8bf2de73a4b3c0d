import type { ReplyPart } from "@unigate/contracts";

/** Bytes waiting for a slow reader past which the upstream is paused. */
const HIGH_WATER = 256 * 1024;

/** What a queue controls. */
export interface Source {
  pause(): void;
  resume(): void;
  /** The reader is gone. */
  cancel(): void;
}

/**
 * Parts between an upstream that pushes and a reader that pulls. Bounded: past the high-water mark the source is
 * paused until the reader has caught up.
 */
export class PartQueue implements AsyncIterableIterator<ReplyPart> {
  readonly #parts: ReplyPart[] = [];
  readonly #source: Source;
  #bytes = 0;
  #paused = false;
  #ended = false;
  #error: Error | null = null;
  #waiting: { resolve(result: IteratorResult<ReplyPart>): void; reject(error: Error): void } | null = null;

  constructor(source: Source) {
    this.#source = source;
  }

  push(part: ReplyPart): void {
    if (this.#ended) return;
    const waiting = this.#waiting;
    if (waiting !== null) {
      this.#waiting = null;
      waiting.resolve({ done: false, value: part });
      return;
    }
    this.#parts.push(part);
    this.#bytes += sizeOf(part);
    if (this.#bytes > HIGH_WATER && !this.#paused) {
      this.#paused = true;
      this.#source.pause();
    }
  }

  /** Nothing follows. */
  end(): void {
    this.#ended = true;
    this.#waiting?.resolve({ done: true, value: undefined });
    this.#waiting = null;
  }

  /** The reader gets what is there, and then this error. */
  fail(error: Error): void {
    this.#ended = true;
    this.#error = error;
    this.#waiting?.reject(error);
    this.#waiting = null;
  }

  next(): Promise<IteratorResult<ReplyPart>> {
    const part = this.#parts.shift();
    if (part !== undefined) {
      this.#bytes -= sizeOf(part);
      if (this.#paused && this.#bytes <= HIGH_WATER / 2) {
        this.#paused = false;
        this.#source.resume();
      }
      return Promise.resolve({ done: false, value: part });
    }
    if (this.#error !== null) return Promise.reject(this.#error);
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<ReplyPart>> {
    if (!this.#ended || this.#parts.length > 0) this.#source.cancel();
    this.#parts.length = 0;
    this.#ended = true;
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

function sizeOf(part: ReplyPart): number {
  return part.part?.$case === "chunk" ? part.part.value.data.length : 0;
}
