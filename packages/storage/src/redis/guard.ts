/** Why an operation was not done, or not known to be done. */
export type LossReason = "timeout" | "resting" | "busy" | "failed";

/** The store did not do an operation in time. It may have done it later: repeat only what may be repeated. */
export class StoreLostError extends Error {
  override readonly name = "StoreLostError";
  readonly reason: LossReason;

  constructor(reason: LossReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface GuardOptions {
  /** Of an operation that names none, ms. */
  readonly deadlineMs: number;
  /** What a failure of the store may be told as: without secrets. */
  readonly describe: (error: unknown) => string;
  /** Called once when the store is lost, and once when it is back. */
  readonly onLost: (why: string) => void;
  readonly onBack: () => void;
  /** Monotonic ms. */
  readonly now?: () => number;
  /** 0 to 1. */
  readonly draw?: () => number;
}

export interface GuardStatistics {
  /** Operations that were not done, by why, since the start. */
  readonly failures: Readonly<Record<LossReason, number>>;
  /** Operations are refused without being tried. */
  readonly open: boolean;
  /** Sent and not answered. */
  readonly waiting: number;
}

/** A deadline and a breaker around every operation of a store. */
export interface Guard {
  /** Rejects with StoreLostError only. */
  run<T>(operation: () => Promise<T>, deadlineMs?: number): Promise<T>;
  /** The connection is gone. */
  lost(why: string): void;
  /** The connection is there and the store has answered on it. */
  restored(): void;
  statistics(): GuardStatistics;
}

/** Failures in a row after which the store is given a rest. */
const MOST_FAILURES = 5;
/** One operation is let through after this. Times 0.8 to 1.2, so that replicas do not come together. */
const REST_MS = 1_000;
/** Operations without an answer that may wait at once. */
const MOST_WAITING = 10_000;

export function createGuard(options: GuardOptions): Guard {
  const { now = () => performance.now(), draw = Math.random } = options;
  const failures = { timeout: 0, resting: 0, busy: 0, failed: 0 };
  let inRow = 0;
  /** Null = closed. */
  let openUntil: number | null = null;
  let probing = false;
  let waiting = 0;
  let isLost = false;

  function lost(why: string): void {
    if (isLost) return;
    isLost = true;
    options.onLost(why);
  }

  function succeed(): void {
    inRow = 0;
    openUntil = null;
    probing = false;
    if (!isLost) return;
    isLost = false;
    options.onBack();
  }

  function fail(reason: LossReason, why: string): StoreLostError {
    failures[reason] += 1;
    inRow += 1;
    // While it is open, only the probe's failure counts; earlier operations may still be ending.
    if (openUntil === null ? inRow >= MOST_FAILURES : probing) {
      openUntil = now() + REST_MS * (0.8 + 0.4 * draw());
      probing = false;
      lost(why);
    }
    return new StoreLostError(reason, why);
  }

  function refusal(): StoreLostError | null {
    if (waiting >= MOST_WAITING) {
      failures.busy += 1;
      return new StoreLostError("busy", `${MOST_WAITING} operations wait already`);
    }
    if (openUntil === null) return null;
    if (probing || now() < openUntil) {
      failures.resting += 1;
      return new StoreLostError("resting", "the store is given a rest after failures");
    }
    probing = true;
    return null;
  }

  return {
    run(operation, deadlineMs = options.deadlineMs) {
      const refused = refusal();
      if (refused !== null) return Promise.reject(refused);
      waiting += 1;
      return new Promise((resolve, reject) => {
        let ended = false;
        const expire = (): void => {
          if (ended) return;
          ended = true;
          reject(fail("timeout", `no answer within ${deadlineMs} ms`));
        };
        // An answer that came while this process was busy is read between the timer and the immediate.
        const timer = setTimeout(() => setImmediate(expire), deadlineMs);
        operation().then(
          (value) => {
            waiting -= 1;
            clearTimeout(timer);
            succeed();
            ended = true;
            resolve(value);
          },
          (error: unknown) => {
            waiting -= 1;
            clearTimeout(timer);
            if (ended) return;
            ended = true;
            reject(fail("failed", options.describe(error)));
          },
        );
      });
    },
    lost,
    restored: succeed,
    statistics() {
      return { failures: { ...failures }, open: openUntil !== null, waiting };
    },
  };
}
