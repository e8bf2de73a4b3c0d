/** A line or an event is longer than its bound: the stream is given up, never buffered on. */
export class FrameTooLargeError extends Error {
  override readonly name = "FrameTooLargeError";
  /** The bound that was passed, bytes. */
  readonly limit: number;

  constructor(limit: number) {
    super(`One event of the stream is longer than ${limit} bytes.`);
    this.limit = limit;
  }
}

/** Default bound of one event or line, bytes. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** A carry buffer that grew past this is dropped once it is empty. */
const KEPT_CARRY_BYTES = 64 * 1024;

const LF = 10;
const CR = 13;
const EMPTY: Buffer = Buffer.alloc(0);

/**
 * Cuts a byte stream after its last line break and decodes all complete lines of a read at once: one native call a
 * read, and lines are then slices of that text. A code point is never split, because a line break is no part of one.
 */
export class CompleteLines {
  private carry = EMPTY;
  private length = 0;
  private readonly loneCr: boolean;

  /** `loneCr`: a carriage return alone ends a line too (SSE). */
  constructor(loneCr: boolean) {
    this.loneCr = loneCr;
  }

  /** Bytes of the line that has not ended yet. */
  get pending(): number {
    return this.length;
  }

  /** The lines that are complete now, their breaks included; "" when none is. Malformed UTF-8 becomes U+FFFD. */
  take(chunk: Buffer): string {
    const cut = this.cutOf(chunk);
    if (cut === 0) {
      this.keep(chunk, 0);
      return "";
    }
    if (this.length === 0) {
      const text = chunk.toString("utf8", 0, cut);
      if (cut < chunk.length) this.keep(chunk, cut);
      return text;
    }
    this.keep(cut === chunk.length ? chunk : chunk.subarray(0, cut), 0);
    const text = this.rest();
    if (cut < chunk.length) this.keep(chunk, cut);
    return text;
  }

  /** The unfinished line, which is then forgotten. */
  rest(): string {
    const text = this.carry.toString("utf8", 0, this.length);
    this.length = 0;
    if (this.carry.length > KEPT_CARRY_BYTES) this.carry = EMPTY;
    return text;
  }

  private cutOf(chunk: Buffer): number {
    const last = chunk[chunk.length - 1];
    if (last === LF || (last === CR && this.loneCr)) return chunk.length;
    const afterLf = chunk.lastIndexOf(LF) + 1;
    return this.loneCr ? Math.max(afterLf, chunk.lastIndexOf(CR) + 1) : afterLf;
  }

  /** Doubles when full, so that a long line in small reads costs no more than its length. */
  private keep(chunk: Buffer, from: number): void {
    const length = this.length + chunk.length - from;
    if (length > this.carry.length) {
      const grown = Buffer.allocUnsafe(Math.max(length, this.carry.length * 2, 1024));
      this.carry.copy(grown, 0, 0, this.length);
      this.carry = grown;
    }
    chunk.copy(this.carry, this.length, from);
    this.length = length;
  }
}
