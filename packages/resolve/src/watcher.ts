import type { Change, Ref } from "@unigate/contracts";
import { backgroundCall, type Call, CancelToken, type Clock, sleep } from "@unigate/core";
import type { ResolverDeps, ResolverLimits } from "./types.ts";

/** What a watcher tells. None may throw. */
export interface WatchEvents {
  changed(ref: Ref): void;
  /** Anything may have changed. */
  reset(): void;
  /** Changes are heard from now on. */
  seeing(): void;
  /** Changes after `since` (Unix ms) may have been missed. */
  blind(since: number): void;
}

export interface Watcher {
  start(): void;
  stop(): Promise<void>;
}

/** Two heartbeats missing, and half of one for the way. */
const MISSED_BEATS = 2.5;

/** Keeps one Watch call open: notices silence and gaps, opens it again after a chance part of `reconnectMs`. */
export function createWatcher(
  control: ResolverDeps["control"],
  limits: ResolverLimits,
  clock: Clock,
  random: () => number,
  events: WatchEvents,
): Watcher {
  const stopping = new CancelToken();
  let running: Promise<void> | null = null;
  let epoch = "";
  let seq = 0;
  let heardAt = 0;

  function hear(change: Change): void {
    heardAt = clock.now();
    const { what } = change;
    const follows = change.epoch === epoch && change.seq === (what?.$case === "changed" ? seq + 1 : seq);
    epoch = change.epoch;
    seq = change.seq;
    // Another epoch, or a gap: something was not heard. The first message of all ends up here too, because what
    // was resolved before it may have changed since.
    if (!follows || what?.$case === "reset") events.reset();
    else if (what?.$case === "changed") events.changed(what.value);
    // Missed changes come before the first heartbeat: from it on nothing is outstanding.
    if (what?.$case !== "changed") events.seeing();
  }

  /** One Watch call, until it ends, breaks or falls silent. */
  async function listen(): Promise<void> {
    const cancel = new CancelToken();
    const unlink = stopping.onCancel((reason) => cancel.cancel(reason));
    const openedAt = clock.now();
    const timer = setInterval(() => {
      if (clock.now() - Math.max(heardAt, openedAt) > MISSED_BEATS * limits.heartbeatMs) cancel.cancel("superseded");
    }, limits.heartbeatMs / 2).unref();
    const call: Call = { ...backgroundCall(), cancel };
    try {
      for await (const change of control.watch({ epoch, afterSeq: seq }, call)) {
        if (cancel.cancelled) break;
        hear(change);
      }
    } catch {
      // Every end of the call is handled alike: blind, wait, open it again.
    } finally {
      clearInterval(timer);
      unlink();
    }
  }

  async function run(): Promise<void> {
    while (!stopping.cancelled) {
      await listen();
      if (stopping.cancelled) return;
      events.blind(heardAt);
      await sleep(random() * limits.reconnectMs, stopping);
    }
  }

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.cancel("shutdown");
      await running;
    },
  };
}
