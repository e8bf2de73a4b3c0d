import type { StartedRequest } from "./started.ts";

/** A request that was admitted and has not ended. */
export interface OpenRequest {
  readonly number: number;
  readonly started: StartedRequest;
  /** A frame was made that says it started: from now on one must say that it ended. */
  recorded: boolean;
  /** It ended before such a frame was made: none is needed. */
  over: boolean;
}

/** The requests that a crash would interrupt now. */
export interface OpenRequests {
  readonly size: number;
  start(started: StartedRequest): OpenRequest;
  /** Forgets it. Undefined when it is not open (any more). */
  end(number: number): OpenRequest | undefined;
  all(): Iterable<OpenRequest>;
}

const MOST_NUMBERS = 2 ** 32 - 1;

export function createOpenRequests(): OpenRequests {
  const open = new Map<number, OpenRequest>();
  let last = 0;
  return {
    get size() {
      return open.size;
    },
    start(started) {
      last = last === MOST_NUMBERS ? 1 : last + 1;
      const request: OpenRequest = { number: last, started, recorded: false, over: false };
      open.set(last, request);
      return request;
    },
    end(number) {
      const request = open.get(number);
      if (request === undefined) return undefined;
      open.delete(number);
      request.over = !request.recorded;
      return request;
    },
    all: () => open.values(),
  };
}
