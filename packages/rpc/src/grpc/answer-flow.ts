/** A handler may be this many answers ahead of what HTTP/2 has taken; then its iterator is not asked for more. */
export const MAX_UNSENT_ANSWERS = 16;
export const MAX_UNSENT_BYTES = 256 * 1024;

/** Counts what was written and not yet taken by HTTP/2, which takes nothing while the peer's window is full. */
export class AnswerFlow {
  #answers = 0;
  #bytes = 0;
  #closed = false;
  #resume: (() => void) | null = null;

  /** Null while there is room; else a promise of room, which `close` keeps too. */
  room(): Promise<void> | null {
    if (this.#closed || !this.#full()) return null;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** Counts an answer in and returns what is to be called once it was taken. */
  writing(bytes: number): () => void {
    this.#answers += 1;
    this.#bytes += bytes;
    return () => {
      this.#answers -= 1;
      this.#bytes -= bytes;
      if (!this.#full()) this.#wake();
    };
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  #full(): boolean {
    return this.#answers >= MAX_UNSENT_ANSWERS || this.#bytes >= MAX_UNSENT_BYTES;
  }

  #wake(): void {
    this.#resume?.();
    this.#resume = null;
  }
}
