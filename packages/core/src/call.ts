import { CancelToken, LONGEST_TIMER_MS } from "./cancel.ts";

/** What travels with every call between services: explicit, never ambient. */
export interface Call {
  /** 32 hex digits. */
  readonly traceId: string;
  /** W3C traceparent of the calling span. */
  readonly traceparent: string;
  /** Unix ms after which nobody waits any more; Infinity = no deadline. */
  readonly deadline: number;
  readonly cancel: CancelToken;
}

/** A call that nobody waits for and nothing cancels: background work, start-up. */
export function backgroundCall(deadline: number = Number.POSITIVE_INFINITY): Call {
  return { traceId: NO_TRACE, traceparent: "", deadline, cancel: new CancelToken() };
}

const NO_TRACE = "0".repeat(32);

/** A call with a deadline of its own, never later than its parent's. */
export interface BoundedCall {
  readonly call: Call;
  /** Must be called when the work is over, whatever its end: frees the timer and the link to the parent. */
  readonly done: () => void;
}

/** `parent`, given up after `ms` at the latest (reason "deadline"). */
export function boundCall(parent: Call, ms: number): BoundedCall {
  const cancel = new CancelToken();
  const timer = setTimeout(() => cancel.cancel("deadline"), Math.min(ms, LONGEST_TIMER_MS));
  const unlink = parent.cancel.onCancel((reason) => cancel.cancel(reason));
  return {
    call: { traceId: parent.traceId, traceparent: parent.traceparent, deadline: Math.min(parent.deadline, Date.now() + ms), cancel },
    done() {
      clearTimeout(timer);
      unlink();
    },
  };
}
