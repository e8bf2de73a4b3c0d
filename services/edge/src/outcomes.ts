import type { AttemptOutcome, InFlight, RouterPort } from "@unigate/contracts";
import { backgroundCall, newId } from "@unigate/core";
import type { Logger } from "@unigate/runtime";
import type { UnderWay } from "./under-way.ts";

const FLUSH_MS = 100;
const MAX_BATCH = 256;
const MAX_WAITING = 5_000;
/** Batches on their way at once; the rest waits. */
const MAX_SENDING = 4;
const DEADLINE_MS = 2_000;

/** Outcomes of attempts on their way to the router: batched and bounded. No request waits for it, and loss is harmless. */
export interface Outcomes {
  add(outcome: AttemptOutcome): void;
  /** Sends what is waiting. */
  flush(): Promise<void>;
  /** Outcomes that were lost: too many waited, or the router did not take them. */
  readonly dropped: number;
}

export function createOutcomes(router: Pick<RouterPort, "report">, log: Pick<Logger, "warn">, underWay: UnderWay): Outcomes {
  const reporter = newId("edg");
  let waiting: AttemptOutcome[] = [];
  let timer: NodeJS.Timeout | null = null;
  let sending = 0;
  let dropped = 0;
  /** Told once, until a batch gets through again. */
  let isFailing = false;

  async function send(outcomes: AttemptOutcome[], inFlight: InFlight[]): Promise<void> {
    sending += 1;
    try {
      await router.report({ outcomes, inFlight, reporter }, backgroundCall(Date.now() + DEADLINE_MS));
      isFailing = false;
    } catch (error) {
      dropped += outcomes.length;
      if (!isFailing) log.warn({ error: String(error) }, "outcomes of attempts were lost; circuit breakers do not count them");
      isFailing = true;
    } finally {
      sending -= 1;
    }
    if (waiting.length > 0) plan();
  }

  function plan(): void {
    timer ??= setTimeout(() => {
      timer = null;
      void sendBatch();
    }, FLUSH_MS);
  }

  function sendBatch(): Promise<void> {
    if (sending >= MAX_SENDING) return Promise.resolve();
    const inFlight = underWay.take();
    if (waiting.length + inFlight.length === 0) return Promise.resolve();
    const batch = waiting.slice(0, MAX_BATCH);
    waiting = waiting.slice(MAX_BATCH);
    if (waiting.length > 0) plan();
    return send(batch, inFlight);
  }

  underWay.onChange(plan);
  return {
    add(outcome) {
      if (waiting.length >= MAX_WAITING) {
        dropped += 1;
        return;
      }
      waiting.push(outcome);
      if (waiting.length === MAX_BATCH) void sendBatch();
      else plan();
    },
    async flush() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      const batches: Promise<void>[] = [];
      while (waiting.length > 0 && sending < MAX_SENDING) batches.push(sendBatch());
      await Promise.all(batches);
      if (timer !== null) clearTimeout(timer);
      timer = null;
      dropped += waiting.length;
      waiting = [];
    },
    get dropped() {
      return dropped;
    },
  };
}
