import { readdir, rm } from "node:fs/promises";
import { CancelToken, type Clock, newId, systemClock } from "@unigate/core";
import type { LogDraft } from "@unigate/events";
import { startAdoption } from "./adoption.ts";
import { createBacklog } from "./backlog.ts";
import { type Deliver, startDrain } from "./drain.ts";
import { createIntake } from "./intake.ts";
import { type SpoolLimits, spoolLimits } from "./limits.ts";
import type { SpoolLog } from "./log.ts";
import { createOpenRequests } from "./open-requests.ts";
import { ownFolder } from "./owner.ts";
import { keepPosition, type PositionKeeper } from "./position.ts";
import { deleteSegment } from "./segment.ts";
import { createSegmentWriter } from "./segment-writer.ts";
import type { StartedRequest } from "./started.ts";

/**
 * Where the edge leaves its log records: on disk within 10 ms, then delivered, at least once, in order. Nothing here
 * throws or makes a request wait.
 */
export interface Spool {
  /** A request was admitted. Gives its number, for its records and its end. */
  started(request: StartedRequest): number;
  /**
   * Takes a record: nothing is serialised now. `request` is the number of its request, 0 when it has none; `last` says
   * that the request has ended with it. False when the spool is closed.
   */
  offer(draft: LogDraft, request?: number, last?: boolean): boolean;
  /** A request ended. Needless, and harmless, after its last record. */
  ended(request: number): void;
  /** Writes and delivers all that waits, until `deadline` (Unix ms) at the latest. Gives how many records are not delivered by then. */
  flush(deadline: number): Promise<number>;
  /** Ends the work. What is on disk stays for the next process; what is only in memory counts as dropped. */
  close(): Promise<void>;
  stats(): SpoolStats;
}

/** Plain numbers, cheap to read. */
export interface SpoolStats {
  /** What is not delivered, anywhere; and its bytes in memory. */
  readonly records: number;
  readonly bytes: number;
  /** Delivered, lost for want of space, and deliveries that failed. */
  readonly stored: number;
  readonly dropped: number;
  readonly breaks: number;
  /** Records that are not handed to the kernel yet, and roughly their bytes. */
  readonly waitingRecords: number;
  readonly waitingBytes: number;
  readonly diskBytes: number;
  readonly segments: number;
  /** Age of the oldest record that is not delivered, ms; 0 when there is none. */
  readonly oldestMs: number;
  /** 1 while the disk cannot be written. */
  readonly failing: number;
  readonly openRequests: number;
  /** Requests of dead processes that got a record with the outcome "interrupted". */
  readonly interrupted: number;
  /** Segments of dead processes that ended in the middle of a write, and those with damage elsewhere. */
  readonly torn: number;
  readonly damaged: number;
}

export interface SpoolDeps {
  /** Folder of all processes' spools; made when needed. One file system. */
  readonly dir: string;
  readonly deliver: Deliver;
  readonly log: SpoolLog;
  readonly limits?: Partial<SpoolLimits>;
  /** Told of records that are lost, for metric and log. Must not throw. */
  readonly onDrop?: (records: number) => void;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** Longest wait for a disk that does not answer when the spool is closed, ms. */
const CLOSE_MS = 5_000;

export function createSpool(deps: SpoolDeps): Spool {
  const { dir, deliver, log, clock = systemClock, random = Math.random, onDrop = nothing } = deps;
  const limits = spoolLimits(deps.limits);
  const own = ownFolder(dir, newId("edge-"));
  const closing = new CancelToken();
  const openRequests = createOpenRequests();
  const backlog = createBacklog(limits.tailBytes, deleteSegment);
  const onEmpty = new Set<() => void>();
  let [stored, dropped, breaks, interrupted, torn, damaged] = [0, 0, 0, 0, 0, 0];
  let closed = false;

  function drop(records: number): void {
    if (records === 0) return;
    dropped += records;
    onDrop(records);
    tellEmpty();
  }

  const outcomes = {
    onDelivered(records: number): void {
      stored += records;
      tellEmpty();
    },
    onBreak(): void {
      breaks += 1;
    },
    onUnreadable(records: number, code: string): void {
      damaged += 1;
      log.warn({ code, records }, "a part of the log spool cannot be read; its records are lost");
      drop(records);
    },
  };

  // The first record waits no longer than any other. What goes wrong here the first write meets, and tells.
  const prepared = own.ensure().catch(nothing);
  const position: PositionKeeper = keepPosition(own.path);
  const writer = createSegmentWriter({
    limits,
    clock,
    log,
    backlog,
    openRequests,
    ensureFolder: async () => {
      await own.ensure();
      return own.path;
    },
    onChange() {
      keepWithinDisk();
      drain.wake();
    },
  });
  const intake = createIntake(limits, clock, openRequests, (write) => writer.push(write), drop);
  const common = { deliver, limits, random, closing, ...outcomes };
  const drain = startDrain({ ...common, spoolId: own.id, backlog, position, mayTakeUnwritten: () => writer.failing, untilEmpty: false });
  const adoption = startAdoption({
    ...common,
    dir,
    own,
    clock,
    log,
    onTaken(recovered) {
      interrupted += recovered.interrupted;
      torn += recovered.torn;
      damaged += recovered.damaged;
      keepWithinDisk();
    },
  });
  const heartbeat = setInterval(() => {
    own.touch().then((isThere) => {
      if (!isThere) writer.rotate();
    }, nothing);
  }, limits.rescanMs).unref();

  function keepWithinDisk(): void {
    while (diskBytes() > limits.maxBytes) {
      const lost = adoption.dropOldest() ?? backlog.dropSegment();
      if (lost === null) return;
      drop(lost);
    }
  }

  function keepWithinMemory(): void {
    while (intake.bytes + backlog.unwrittenBytes > limits.memoryBytes) {
      const lost = writer.dropOldest();
      if (lost !== null) drop(lost);
      else if (!intake.dropOldest()) return;
    }
  }

  function diskBytes(): number {
    return adoption.backlogs.reduce((sum, one) => sum + one.diskBytes, backlog.diskBytes);
  }

  function records(): number {
    return adoption.backlogs.reduce((sum, one) => sum + one.records, backlog.records + intake.records);
  }

  function tellEmpty(): void {
    if (onEmpty.size > 0 && records() === 0) for (const listener of onEmpty) listener();
  }

  /** The own folder goes when nothing in it is needed. */
  async function leaveFolder(): Promise<void> {
    if (backlog.segments.length === 0) {
      const entries = await readdir(own.path, { withFileTypes: true }).catch(() => []);
      if (entries.length > 0 && !entries.some((entry) => entry.isDirectory())) await rm(own.path, { recursive: true, force: true });
    }
    await own.release();
  }

  return {
    started: (request) => (closed ? 0 : intake.started(request)),
    offer(draft, request = 0, last = false) {
      if (closed) return false;
      intake.offer(draft, request, last);
      keepWithinMemory();
      return true;
    },
    ended(request) {
      if (!closed) intake.ended(request);
    },
    async flush(deadline) {
      if (closed) return records();
      intake.flush();
      drain.wake();
      drain.hurry();
      adoption.hurry();
      if (records() > 0) await untilEmpty(deadline);
      await atMost(writer.flush(), deadline - clock.now());
      return records();
    },
    async close() {
      if (closed) return;
      closed = true;
      clearInterval(heartbeat);
      intake.flush();
      await atMost(writer.close(), CLOSE_MS);
      closing.cancel("shutdown");
      await Promise.all([drain.done, adoption.done]);
      await position.close();
      drop(backlog.unwrittenRecords);
      await atMost(prepared, CLOSE_MS);
      await leaveFolder().catch(nothing);
    },
    stats() {
      const backlogs = [backlog, ...adoption.backlogs];
      const oldest = Math.min(...backlogs.map((one) => one.oldest() ?? Number.POSITIVE_INFINITY));
      return {
        records: records(),
        bytes: backlogs.reduce((sum, one) => sum + one.unwrittenBytes + one.tailBytes, intake.bytes),
        stored,
        dropped,
        breaks,
        waitingRecords: intake.records + backlog.unwrittenRecords,
        waitingBytes: intake.bytes + backlog.unwrittenBytes,
        diskBytes: diskBytes(),
        segments: backlogs.reduce((sum, one) => sum + one.segments.length, 0),
        oldestMs: Number.isFinite(oldest) ? Math.max(0, clock.now() - oldest) : 0,
        failing: writer.failing ? 1 : 0,
        openRequests: openRequests.size,
        interrupted,
        torn,
        damaged,
      };
    },
  };

  function untilEmpty(deadline: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(giveUp);
        onEmpty.delete(done);
        resolve();
      };
      const giveUp = setTimeout(done, Math.max(0, deadline - clock.now()));
      onEmpty.add(done);
    });
  }
}

/** Until the work is done, or `ms` have passed. */
async function atMost(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms));
  });
  await Promise.race([work, patience]);
  clearTimeout(timer);
}

function nothing(): void {}
