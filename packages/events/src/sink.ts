import type { LoggingPort } from "@unigate/contracts";
import { type AppendStreamLimits, createAppendStream } from "./append-stream.ts";
import { boundMessage } from "./body.ts";
import type { LogDraft } from "./draft.ts";
import { encodeRecord } from "./encode.ts";

/** Bounds of a sink; every one has a default. */
export interface SinkLimits extends AppendStreamLimits {
  /** Records waiting or sent and not acknowledged. Default 10,000. */
  readonly records: number;
  /** Bytes of them, roughly. Default 64 MiB. */
  readonly bytes: number;
  /** Records of one batch. Default 200. */
  readonly batchRecords: number;
  /** Bytes of one batch. Default 1 MiB. */
  readonly batchBytes: number;
  /** Longest wait of a record for others to share its batch. Default 10 ms. */
  readonly lingerMs: number;
  /** Batches sent and not acknowledged; more wait as records. Default 8. */
  readonly window: number;
}

/** Where the edge leaves its log records. Nothing here ever throws or makes a request wait. */
export interface LogSink {
  /** Takes a record: nothing is serialised now. False when the sink is closed. When it is full the oldest waiting records go. */
  offer(draft: LogDraft): boolean;
  /** Sends all that waits, until `deadline` (Unix ms) at the latest. Gives how many records are not acknowledged by then. */
  flush(deadline: number): Promise<number>;
  /** Ends the connection. What is not acknowledged counts as dropped. */
  close(): Promise<void>;
  stats(): SinkStats;
}

export interface SinkStats {
  /** Waiting or not acknowledged. */
  readonly records: number;
  readonly bytes: number;
  readonly stored: number;
  readonly dropped: number;
  /** Connections that ended. */
  readonly breaks: number;
}

export interface SinkDeps {
  readonly append: LoggingPort["append"];
  /** The writer's own name: one per process. */
  readonly spoolId: string;
  readonly limits?: Partial<SinkLimits>;
  /** Told of records that are lost, for metric and log. Must not throw. */
  readonly onDrop?: (records: number) => void;
  readonly random?: () => number;
}

const DEFAULTS: SinkLimits = {
  records: 10_000,
  bytes: 64 * 1024 * 1024,
  batchRecords: 200,
  batchBytes: 1024 * 1024,
  lingerMs: 10,
  window: 8,
  backoffMs: 100,
  maxBackoffMs: 5_000,
  ackTimeoutMs: 10_000,
};

/** What a record is taken to weigh beside its bodies, bytes. */
const HEAD_BYTES = 1_500;

/**
 * A bounded in-memory sink over one Append call: at least once while the process lives, lost with it. Records go out
 * in batches, in the order they came; the logging service ignores those it has.
 */
export function createSink(deps: SinkDeps): LogSink {
  const limits: SinkLimits = { ...DEFAULTS, ...deps.limits };
  const onDrop = deps.onDrop ?? nothing;
  const waiting: { readonly draft: LogDraft; readonly bytes: number }[] = [];
  const inFlight: { readonly records: number; readonly bytes: number }[] = [];
  let [records, bytes, stored, dropped, breaks, offset] = [0, 0, 0, 0, 0, 0];
  let overflow: Buffer | null = null;
  let closed = false;
  let timer: NodeJS.Timeout | null = null;
  let immediate: NodeJS.Immediate | null = null;
  const onEmpty = new Set<() => void>();

  const stream = createAppendStream(deps.append, limits, deps.random ?? Math.random, acknowledged, () => {
    breaks += 1;
  });

  function drop(count: number, size: number): void {
    records -= count;
    bytes -= size;
    dropped += count;
    onDrop(count);
  }

  function acknowledged(): void {
    const batch = inFlight.shift();
    if (batch === undefined) return;
    records -= batch.records;
    bytes -= batch.bytes;
    stored += batch.records;
    if (waiting.length > 0 || overflow !== null) sendSoon();
    else tellEmpty();
  }

  function tellEmpty(): void {
    if (records === 0) for (const listener of onEmpty) listener();
  }

  function sendSoon(): void {
    immediate ??= setImmediate(send);
  }

  function send(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    immediate = null;
    if (closed) return;
    if (inFlight.length < limits.window) sendBatch();
    // One batch a tick: writing records must not hold up requests.
    if ((waiting.length > 0 || overflow !== null) && inFlight.length < limits.window) sendSoon();
    tellEmpty();
  }

  function sendBatch(): void {
    const encoded: Buffer[] = [];
    let [size, weight] = [0, 0];
    if (overflow !== null) {
      encoded.push(overflow);
      size = overflow.length;
      weight = overflow.length;
      overflow = null;
    }
    while (encoded.length < limits.batchRecords && size < limits.batchBytes) {
      const next = waiting.shift();
      if (next === undefined) break;
      const record = encodedOrNull(next.draft);
      if (record === null) {
        drop(1, next.bytes);
        continue;
      }
      // From here on a record weighs what it really is.
      bytes += record.length - next.bytes;
      if (encoded.length > 0 && size + record.length > limits.batchBytes) {
        overflow = record;
        break;
      }
      encoded.push(record);
      size += record.length;
      weight += record.length;
    }
    if (encoded.length === 0) return;
    offset += encoded.length;
    inFlight.push({ records: encoded.length, bytes: weight });
    stream.push({ spoolId: deps.spoolId, offset, records: encoded });
  }

  function makeRoom(): void {
    while (records > limits.records || bytes > limits.bytes) {
      const oldest = waiting.shift();
      if (oldest === undefined) return;
      drop(1, oldest.bytes);
    }
  }

  return {
    offer(draft) {
      if (closed) return false;
      const bounded = bound(draft);
      const size = HEAD_BYTES + (bounded.request?.body?.length ?? 0) + (bounded.response?.body?.length ?? 0);
      waiting.push({ draft: bounded, bytes: size });
      records += 1;
      bytes += size;
      if (records > limits.records || bytes > limits.bytes) makeRoom();
      if (waiting.length >= limits.batchRecords) sendSoon();
      else timer ??= setTimeout(send, limits.lingerMs);
      return true;
    },
    async flush(deadline) {
      if (records === 0 || closed) return records;
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(giveUp);
          onEmpty.delete(done);
          resolve();
        };
        const giveUp = setTimeout(done, Math.max(0, deadline - Date.now()));
        onEmpty.add(done);
        send();
      });
      return records;
    },
    async close() {
      if (closed) return;
      closed = true;
      if (timer !== null) clearTimeout(timer);
      if (immediate !== null) clearImmediate(immediate);
      inFlight.length = 0;
      if (records > 0) drop(records, bytes);
      await stream.close();
    },
    stats: () => ({ records, bytes, stored, dropped, breaks }),
  };
}

function bound(draft: LogDraft): LogDraft {
  const [request, response] = [boundMessage(draft.request), boundMessage(draft.response)];
  return request === draft.request && response === draft.response ? draft : { head: draft.head, request, response };
}

/** Null when a field of the head cannot be JSON: such a record can never be stored. */
function encodedOrNull(draft: LogDraft): Buffer | null {
  try {
    return encodeRecord(draft);
  } catch {
    return null;
  }
}

function nothing(): void {}
