import { setImmediate as nextTurn } from "node:timers/promises";

/** Checks that compute hold the process no longer than about this before others have their turn, ms. */
const LONG_MS = 10;

/** Shares the process between the checks of one call and everything else: one long check a turn of the event loop. */
export class Turn {
  #number = 0;
  #began = performance.now();

  /** Whether enough was computed in this turn. Asked right before computing, with no await between. */
  get isLong(): boolean {
    return performance.now() - this.#began > LONG_MS;
  }

  /** Waits for another turn, which belongs to the first that it wakes: `while (turn.isLong) await turn.next()`. */
  async next(): Promise<void> {
    const seen = this.#number;
    await nextTurn();
    if (this.#number !== seen) return;
    this.#number += 1;
    this.#began = performance.now();
  }
}
