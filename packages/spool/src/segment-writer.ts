import type { Clock } from "@unigate/core";
import type { Backlog } from "./backlog.ts";
import { ENDED, READY, STARTED } from "./frame.ts";
import { createFrameBuffer } from "./frame-buffer.ts";
import type { PlannedWrite } from "./intake.ts";
import type { SpoolLimits } from "./limits.ts";
import { codeOf, type SpoolLog } from "./log.ts";
import type { OpenRequests } from "./open-requests.ts";
import { createSegmentFile, type SegmentFile } from "./segment-file.ts";
import { startedText } from "./started.ts";

/** Hands writes to the kernel one after the other, segment by segment. Nothing here throws or waits for long. */
export interface SegmentWriter {
  /** The disk refuses or stalls: what comes stays in memory, and may be delivered from there. */
  readonly failing: boolean;
  /** Writes that wait; what they weigh is counted by the backlog. */
  push(write: PlannedWrite): void;
  /** Gives up the oldest write that waits and is not on its way. Gives its records; null when there is none. */
  dropOldest(): number | null;
  /** Begins a new segment at the next write. */
  rotate(): void;
  /** Until all that waits is written and synced, or the disk fails. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface SegmentWriterDeps {
  readonly limits: SpoolLimits;
  readonly clock: Clock;
  readonly log: SpoolLog;
  readonly backlog: Backlog;
  readonly openRequests: OpenRequests;
  /** Makes the folder when it is not there. Throws what the file system says. */
  readonly ensureFolder: () => Promise<string>;
  /** Told when more can be delivered: something was written, or began to fail. */
  readonly onChange: () => void;
}

/** Bytes of one write. */
const WRITE_BYTES = 1024 * 1024;

async function leave(file: SegmentFile): Promise<void> {
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

export function createSegmentWriter(deps: SegmentWriterDeps): SegmentWriter {
  const { limits, clock, log, backlog, openRequests } = deps;
  const buffer = createFrameBuffer();
  const queue: PlannedWrite[] = [];
  /** Things that happen beside the writes: closing and syncing segments. */
  const beside = new Set<Promise<void>>();
  let active: SegmentFile | null = null;
  let running: Promise<void> | null = null;
  let syncTimer: NodeJS.Timeout | null = null;
  let retryTimer: NodeJS.Timeout | null = null;
  let [onTheWay, nextNumber, failures] = [0, 1, 0];
  let [failing, mustRotate, syncing, closed, givenUp] = [false, false, false, false, false];

  function fail(error: unknown): void {
    mustRotate = true;
    if (failing) return;
    failing = true;
    log.warn({ code: codeOf(error) }, "the log spool cannot write to its folder; records are kept in memory until it can");
    deps.onChange();
  }

  function recover(): void {
    failures = 0;
    if (!failing) return;
    failing = false;
    log.info({}, "the log spool writes to its folder again");
  }

  function aside(work: Promise<void>): void {
    const tracked = work.catch(fail).finally(() => beside.delete(tracked));
    beside.add(tracked);
  }

  function retire(isNeeded = false): void {
    if (active === null) return;
    const file = active;
    active = null;
    if (!isNeeded) backlog.finishSegment(file.segment);
    aside(leave(file));
  }

  function syncSoon(): void {
    syncTimer ??= setTimeout(syncNow, limits.syncDelayMs);
  }

  /** One at a time: a slow disk must not take all threads that the process has for files. */
  function syncNow(): void {
    if (syncTimer !== null) clearTimeout(syncTimer);
    syncTimer = null;
    if (active === null) return;
    if (syncing) syncSoon();
    else {
      syncing = true;
      aside(
        active.sync().finally(() => {
          syncing = false;
        }),
      );
    }
  }

  /** A segment with room for the write; a new one opens with the requests that are open now. */
  async function segmentFor(bytes: number): Promise<SegmentFile> {
    buffer.clear();
    if (active !== null && !mustRotate && active.segment.bytes + bytes <= limits.segmentBytes) return active;
    retire();
    const now = clock.now();
    const file = await createSegmentFile(await deps.ensureFolder(), nextNumber, now);
    nextNumber += 1;
    mustRotate = false;
    buffer.addSegmentHeader(now);
    for (const request of openRequests.all()) {
      request.recorded = true;
      buffer.add(STARTED, request.number, startedText(request.started));
    }
    buffer.add(READY, 0, null);
    for (const write of queue) write.isListed = true;
    return file;
  }

  function addFrames({ frames, span, isListed }: PlannedWrite): void {
    // Delivered from memory while the disk failed.
    if (span.gone) return;
    for (const { kind, request, payload } of frames) {
      if (!isListed || (kind !== STARTED && kind !== ENDED)) buffer.add(kind, request, payload);
    }
  }

  async function writeSome(): Promise<void> {
    let bytes = 0;
    for (const { span } of queue) {
      if (onTheWay > 0 && bytes + span.bytes > WRITE_BYTES) break;
      onTheWay += 1;
      bytes += span.bytes;
    }
    const writes = queue.slice(0, onTheWay);
    const file = await segmentFor(bytes);
    const isNew = file !== active;
    const places = writes.map((write) => {
      const start = buffer.length;
      addFrames(write);
      return start;
    });
    const before = file.segment.bytes;
    try {
      await file.append(buffer.bytes, buffer.length);
    } catch (error) {
      if (isNew) aside(file.close());
      throw error;
    }
    if (isNew) {
      active = file;
      backlog.addSegment(file.segment);
    }
    queue.splice(0, onTheWay);
    onTheWay = 0;
    for (const [index, { span }] of writes.entries()) {
      const end = places[index + 1] ?? buffer.length;
      if (span.count > 0) backlog.placed(span, file.segment, before + (places[index] ?? 0), before + end);
    }
  }

  async function run(): Promise<void> {
    while (queue.length > 0 && retryTimer === null) {
      const stalled = setTimeout(fail, limits.stallMs, new Error("a write takes too long"));
      try {
        await writeSome();
        recover();
        syncSoon();
        deps.onChange();
      } catch (error) {
        onTheWay = 0;
        retire();
        fail(error);
        forgetDelivered();
        givenUp = closed;
        if (closed) return;
        retryLater();
      } finally {
        clearTimeout(stalled);
      }
    }
  }

  function retryLater(): void {
    const wait = Math.min(limits.maxDiskRetryMs, limits.diskRetryMs * 2 ** failures);
    failures += 1;
    retryTimer = setTimeout(() => {
      retryTimer = null;
      start();
    }, wait);
    retryTimer.unref();
  }

  function start(): void {
    if (running !== null || retryTimer !== null || givenUp || queue.length === 0) return;
    running = run().finally(() => {
      running = null;
      start();
    });
  }

  /** While the disk fails only records that still wait for delivery are worth a place: they go from its two ends. */
  function forgetDelivered(): void {
    const isWorthless = (write: PlannedWrite | undefined) => write !== undefined && (write.span.gone || write.span.count === 0);
    const before = queue.length;
    while (queue.length > onTheWay && isWorthless(queue[onTheWay])) queue.splice(onTheWay, 1);
    while (queue.length > onTheWay && isWorthless(queue.at(-1))) queue.pop();
    // Starts and ends went with it: the next segment's list makes up for them.
    if (queue.length < before) mustRotate = true;
  }

  async function flush(): Promise<void> {
    while (running !== null) await running;
    syncNow();
    await Promise.all(beside);
  }

  return {
    get failing() {
      return failing;
    },
    push(write) {
      if (write.span.count > 0) backlog.push(write.span);
      queue.push(write);
      if (failing) {
        forgetDelivered();
        deps.onChange();
      }
      start();
    },
    dropOldest() {
      const index = queue.findIndex(({ span }, at) => at >= onTheWay && span.count > 0 && !span.gone && !span.busy);
      const write = queue[index];
      if (write === undefined) return null;
      queue.splice(index, 1);
      // Starts and ends went with it: the next segment's list makes up for them.
      mustRotate = true;
      backlog.remove([write.span]);
      return write.span.count;
    },
    rotate() {
      mustRotate = true;
    },
    flush,
    async close() {
      closed = true;
      if (retryTimer !== null) clearTimeout(retryTimer);
      retryTimer = null;
      start();
      await flush();
      // Requests that never ended are found by whoever takes the folder over.
      retire(openRequests.size > 0);
      if (syncTimer !== null) clearTimeout(syncTimer);
      await Promise.all(beside);
    },
  };
}
