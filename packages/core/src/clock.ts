/** Time and chance, injected so that tests decide them. */
export interface Clock {
  /** Unix ms. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
