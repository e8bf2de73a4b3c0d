import { setImmediate } from "node:timers/promises";
import { backgroundCall, boundCall, CancelToken, sleep } from "@unigate/core";
import type { LogHead } from "@unigate/events";
import type { Logger } from "@unigate/runtime";
import { encodeSpans, spansOf } from "@unigate/traces";
import type { LogStore } from "../log-store.ts";
import { type Collector, type PostOutcome, postSpans } from "./post-spans.ts";

/** Sends the spans of records to a collector, in the background and in their order. */
export interface SpanExport {
  /** Takes the spans of the sampled ones among some records. Waits for no network; drops what is too much. */
  take(records: readonly { readonly head: LogHead }[]): Promise<void>;
  /** Spans that are not sent yet. */
  waiting(): number;
  /** Tries once more to send what waits, some seconds at most; what is left then is dropped. */
  stop(): Promise<void>;
}

export interface SpanExportDeps extends Collector {
  readonly log: Pick<Logger, "info" | "warn">;
  /** A number in [0, 1), for the waits between tries. */
  random(): number;
  /** Told how many spans are lost. Must not throw. */
  onDrop(spans: number): void;
  readonly limits?: Partial<SpanExportLimits>;
}

export interface SpanExportLimits {
  /** Encoded spans that wait, bytes; what comes beyond them is dropped. Default 32 MiB. */
  readonly queueBytes: number;
  /** Records and bytes of one request. Defaults 512 and 1 MiB; one record may be larger. */
  readonly batchRecords: number;
  readonly batchBytes: number;
  /** Longest wait of a record for others to share its request, ms. Default 1,000. */
  readonly delayMs: number;
  /** First wait after a failure, ms; doubles up to `maxBackoffMs`, the half of it by chance. Defaults 1,000 and 30,000. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** A request that takes longer has failed, ms. Default 10,000. */
  readonly timeoutMs: number;
  /** Default 3,000 ms. */
  readonly stopMs: number;
}

const MiB = 1024 * 1024;
const DEFAULTS: SpanExportLimits = {
  queueBytes: 32 * MiB,
  batchRecords: 512,
  batchBytes: MiB,
  delayMs: 1_000,
  backoffMs: 1_000,
  maxBackoffMs: 30_000,
  timeoutMs: 10_000,
  stopMs: 3_000,
};
/** Records whose spans are made at one go: requests may run on the same thread. */
const TURN_RECORDS = 32;

interface Encoded {
  readonly bytes: Buffer;
  readonly spans: number;
}

export function createSpanExport({ log, random, onDrop, limits: given, ...collector }: SpanExportDeps): SpanExport {
  const limits = { ...DEFAULTS, ...given };
  const post = postSpans(collector);
  const queue: Encoded[] = [];
  const ending = new CancelToken();
  let [waitingBytes, waitingSpans, failures] = [0, 0, 0];
  let timer: NodeJS.Timeout | null = null;
  let pause: CancelToken | null = null;
  let sending: Promise<void> | null = null;
  let isStopping = false;

  function add(one: Encoded): void {
    if (isStopping || waitingBytes + one.bytes.length > limits.queueBytes) return onDrop(one.spans);
    queue.push(one);
    waitingBytes += one.bytes.length;
    waitingSpans += one.spans;
    if (queue.length >= limits.batchRecords || waitingBytes >= limits.batchBytes) send();
    else timer ??= setTimeout(send, limits.delayMs);
  }

  function send(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    sending ??= sendAll().finally(() => {
      sending = null;
      if (queue.length > 0 && !isStopping) timer ??= setTimeout(send, limits.delayMs);
    });
  }

  /** Until nothing waits. A batch stays in its place until it is done with. */
  async function sendAll(): Promise<void> {
    while (queue.length > 0) {
      const batch = nextBatch();
      const outcome = await postOnce(batch);
      if (outcome.kind !== "later") settle(batch, outcome);
      else if (isStopping) return;
      else await backOff(outcome);
    }
  }

  function nextBatch(): Encoded[] {
    const batch: Encoded[] = [];
    let bytes = 0;
    for (const one of queue) {
      if (batch.length === limits.batchRecords || (batch.length > 0 && bytes + one.bytes.length > limits.batchBytes)) break;
      batch.push(one);
      bytes += one.bytes.length;
    }
    return batch;
  }

  async function postOnce(batch: readonly Encoded[]): Promise<PostOutcome> {
    const { call, done } = boundCall({ ...backgroundCall(), cancel: ending }, limits.timeoutMs);
    try {
      return await post(Buffer.concat(batch.map(({ bytes }) => bytes)), call);
    } finally {
      done();
    }
  }

  function settle(batch: readonly Encoded[], outcome: Exclude<PostOutcome, { kind: "later" }>): void {
    const spans = batch.reduce((sum, one) => sum + one.spans, 0);
    queue.splice(0, batch.length);
    waitingBytes -= batch.reduce((sum, { bytes }) => sum + bytes.length, 0);
    waitingSpans -= spans;
    const lost = outcome.kind === "refused" ? spans : Math.min(outcome.rejected, spans);
    if (lost > 0) {
      onDrop(lost);
      log.warn(
        { spans: lost, why: outcome.kind === "refused" ? outcome.why : "rejected" },
        "the collector refuses spans; they are dropped",
      );
    }
    if (failures > 0) log.info({}, "the collector takes spans again");
    failures = 0;
  }

  async function backOff({ afterMs, why }: Extract<PostOutcome, { kind: "later" }>): Promise<void> {
    if (failures === 0) log.warn({ why }, "the collector does not take spans; they wait");
    failures += 1;
    const longest = Math.min(limits.maxBackoffMs, limits.backoffMs * 2 ** Math.min(failures - 1, 20));
    pause = new CancelToken();
    await sleep(Math.min(limits.maxBackoffMs, Math.max(afterMs ?? 0, (longest * (1 + random())) / 2)), pause);
    pause = null;
  }

  return {
    async take(records) {
      let made = 0;
      for (const { head } of records) {
        if (head.sampled !== true) continue;
        const spans = spansOf(head);
        if (spans.length > 0) add({ bytes: encodeSpans(spans), spans: spans.length });
        made += 1;
        if (made % TURN_RECORDS === 0) await setImmediate();
      }
    },
    waiting: () => waitingSpans,
    async stop() {
      isStopping = true;
      const patience = setTimeout(() => ending.cancel("shutdown"), limits.stopMs);
      pause?.cancel("shutdown");
      send();
      await sending;
      clearTimeout(patience);
      if (waitingSpans > 0) onDrop(waitingSpans);
      queue.length = 0;
      [waitingBytes, waitingSpans] = [0, 0];
    },
  };
}

/** A store whose records' spans are exported once they are kept. A record that is kept again gives the same spans. */
export function withSpanExport(store: LogStore, spans: Pick<SpanExport, "take">): LogStore {
  return {
    ...store,
    async add(records) {
      const outcome = await store.add(records);
      await spans.take(records);
      return outcome;
    },
  };
}
