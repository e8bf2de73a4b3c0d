/** A call that a server can be asked to end. */
interface RunningCall {
  announceShutdown(): void;
  shutDown(): void;
}

/** The calls of a server from the start of their handler until all of the answer was sent. */
export class RunningCalls {
  readonly #calls = new Set<RunningCall>();
  #onNone: (() => void)[] = [];

  add(call: RunningCall): void {
    this.#calls.add(call);
  }

  delete(call: RunningCall): void {
    if (!this.#calls.delete(call) || this.#calls.size > 0) return;
    const waiting = this.#onNone;
    this.#onNone = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves when no call runs. */
  none(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onNone.push(resolve));
  }

  /** Tells the handlers that the process is about to end. They may still answer. */
  announceShutdown(): void {
    for (const call of this.#calls) call.announceShutdown();
  }

  /** Ends all calls whatever their handlers do. */
  shutDown(): void {
    for (const call of this.#calls) call.shutDown();
  }
}
