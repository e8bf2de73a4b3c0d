import type { Clock } from "@unigate/core";

/** Calls in a row that were not answered in time, after which a service is not waited for. */
const MOST_SILENT = 5;
/** Then one call a time tries whether it is back. */
const REST_MS = 1_000;

/** Whether to wait for a service that may stand still: its deadline is long, and must not delay every request. */
export interface Patience {
  /** False = take it for gone now. */
  mayAsk(): boolean;
  /** It said something, if only that it is gone. */
  answered(): void;
  silent(): void;
}

export function createPatience(clock: Clock): Patience {
  let silent = 0;
  let restsUntil = 0;
  return {
    mayAsk() {
      if (silent < MOST_SILENT) return true;
      const now = clock.now();
      if (now < restsUntil) return false;
      restsUntil = now + REST_MS;
      return true;
    },
    answered() {
      silent = 0;
    },
    silent() {
      silent += 1;
      restsUntil = clock.now() + REST_MS;
    },
  };
}
