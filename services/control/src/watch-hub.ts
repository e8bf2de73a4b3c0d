import { randomBytes } from "node:crypto";
import type { Change, Ref, WatchRequest } from "@unigate/contracts";
import type { CancelToken } from "@unigate/core";

/** Numbers changes and tells them to every watcher. */
export interface WatchHub {
  /** Number of the last change. */
  seq(): number;
  publish(refs: readonly Ref[]): void;
  /**
   * Changes after those the watcher has seen, then a heartbeat, then changes as they come and a heartbeat each
   * `heartbeatMs`. A watcher from another epoch, too far behind or too slow gets a reset instead. Ends when cancelled.
   */
  watch(request: WatchRequest, cancel: CancelToken): AsyncGenerator<Change>;
  /** Ends every watch. */
  close(): void;
}

export interface WatchLimits {
  /** Default 1 s. */
  readonly heartbeatMs: number;
  /** Changes kept for watchers that come back. Default 1,000. */
  readonly kept: number;
  /** Changes that may wait for one watcher. Default 1,000. */
  readonly queue: number;
}

interface Watcher {
  readonly queue: Change[];
  wake(): void;
}

const DEFAULTS: WatchLimits = { heartbeatMs: 1_000, kept: 1_000, queue: 1_000 };

export function createWatchHub(given: Partial<WatchLimits> = {}): WatchHub {
  const limits: WatchLimits = { ...DEFAULTS, ...given };
  const epoch = randomBytes(8).toString("hex");
  const kept: Change[] = [];
  const watchers = new Set<Watcher>();
  let seq = 0;
  let closed = false;
  let timer: NodeJS.Timeout | null = null;

  const heartbeat = (): Change => ({ epoch, seq, what: { $case: "heartbeat", value: {} } });
  const reset = (): Change => ({ epoch, seq, what: { $case: "reset", value: {} } });

  function tell(watcher: Watcher, change: Change): void {
    if (watcher.queue.length >= limits.queue) {
      watcher.queue.length = 0;
      watcher.queue.push(reset());
    } else watcher.queue.push(change);
    watcher.wake();
  }

  function beat(): void {
    for (const watcher of watchers) if (watcher.queue.length === 0) tell(watcher, heartbeat());
  }

  /** What a watcher that saw changes up to `afterSeq` of an epoch has to hear first. */
  function greeting(request: WatchRequest): Change[] {
    if (request.epoch === "") return [heartbeat()];
    const oldest = kept[0]?.seq ?? seq + 1;
    if (request.epoch !== epoch || request.afterSeq > seq || request.afterSeq < oldest - 1) return [reset(), heartbeat()];
    return [...kept.filter((change) => change.seq > request.afterSeq), heartbeat()];
  }

  return {
    seq: () => seq,
    publish(refs) {
      for (const ref of refs) {
        seq += 1;
        const change: Change = { epoch, seq, what: { $case: "changed", value: ref } };
        kept.push(change);
        if (kept.length > limits.kept) kept.shift();
        for (const watcher of watchers) tell(watcher, change);
      }
    },
    async *watch(request, cancel) {
      let wake: () => void = nothing;
      const watcher: Watcher = { queue: greeting(request), wake: () => wake() };
      watchers.add(watcher);
      timer ??= setInterval(beat, limits.heartbeatMs).unref();
      const unlink = cancel.onCancel(() => wake());
      try {
        while (!closed && !cancel.cancelled) {
          const change = watcher.queue.shift();
          if (change !== undefined) yield change;
          else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
      } finally {
        unlink();
        watchers.delete(watcher);
        if (watchers.size === 0 && timer !== null) {
          clearInterval(timer);
          timer = null;
        }
      }
    },
    close() {
      closed = true;
      for (const watcher of watchers) watcher.wake();
    },
  };
}

function nothing(): void {}
