import { rm } from "node:fs/promises";
import { basename } from "node:path";
import { type CancelToken, type Clock, sleep } from "@unigate/core";
import { claimAbandoned } from "./adopt.ts";
import { type Backlog, createBacklog } from "./backlog.ts";
import { type Deliver, type Drain, startDrain } from "./drain.ts";
import type { SpoolLimits } from "./limits.ts";
import { codeOf, type SpoolLog } from "./log.ts";
import type { OwnFolder } from "./owner.ts";
import { keepPosition } from "./position.ts";
import { type Recovered, recoverFolder } from "./recover.ts";
import { deleteSegment } from "./segment.ts";

/** Delivers what dead processes left, beside the own records: one folder after the other, the oldest first. */
export interface Adoption {
  readonly backlogs: readonly Backlog[];
  /** Forgets the oldest of it, for want of space. Gives how many records are lost; null when nothing may go. */
  dropOldest(): number | null;
  hurry(): void;
  /** Ends after `closing` was cancelled. */
  readonly done: Promise<void>;
}

export interface AdoptionDeps {
  readonly dir: string;
  readonly own: OwnFolder;
  readonly limits: SpoolLimits;
  readonly clock: Clock;
  readonly log: SpoolLog;
  readonly deliver: Deliver;
  readonly random: () => number;
  readonly closing: CancelToken;
  /** Something was taken over. */
  readonly onTaken: (recovered: Recovered) => void;
  readonly onDelivered: (records: number) => void;
  readonly onBreak: () => void;
  readonly onUnreadable: (records: number, code: string) => void;
}

interface Adopted {
  readonly path: string;
  readonly backlog: Backlog;
}

export function startAdoption(deps: AdoptionDeps): Adoption {
  const { dir, own, limits, clock, log, closing } = deps;
  const folders: Adopted[] = [];
  let drain: Drain | null = null;
  let isTold = false;

  async function run(): Promise<void> {
    while (!closing.cancelled) {
      const isMore = await take();
      for (let first = folders[0]; first !== undefined; first = folders[0]) {
        await deliverFolder(first);
        if (first.backlog.records > 0) return;
        folders.shift();
        await remove(first.path);
      }
      if (!isMore) await sleep(limits.rescanMs, closing);
    }
  }

  /** Takes folders over; false when there are none now. */
  async function take(): Promise<boolean> {
    try {
      const paths = await claimAbandoned(dir, own, clock.now(), limits.quietMs);
      for (const path of paths) await adopt(path);
      folders.sort((left, right) => (left.backlog.segments[0]?.createdAt ?? 0) - (right.backlog.segments[0]?.createdAt ?? 0));
      isTold = false;
      return paths.length > 0;
    } catch (error) {
      if (!isTold) log.warn({ code: codeOf(error) }, "what another process left in the log spool cannot be taken over now");
      isTold = true;
      return false;
    }
  }

  async function adopt(path: string): Promise<void> {
    const recovered = await recoverFolder(path, clock.now());
    const { segments, spans, interrupted, torn, damaged } = recovered;
    const backlog = createBacklog(limits.tailBytes, deleteSegment);
    for (const segment of segments) backlog.addSegment(segment);
    for (const span of spans) backlog.push(span);
    for (const segment of segments) if (!segment.kept) backlog.finishSegment(segment);
    folders.push({ path, backlog });
    log.info({ folder: basename(path), records: backlog.records, interrupted, torn, damaged }, "took over a folder of the log spool");
    deps.onTaken(recovered);
  }

  async function deliverFolder({ path, backlog }: Adopted): Promise<void> {
    const position = keepPosition(path);
    drain = startDrain({
      ...deps,
      spoolId: basename(path),
      backlog,
      position,
      mayTakeUnwritten: () => true,
      untilEmpty: true,
    });
    await drain.done;
    drain = null;
    await position.close();
  }

  async function remove(path: string): Promise<void> {
    try {
      await rm(path, { recursive: true, force: true });
    } catch (error) {
      log.warn({ code: codeOf(error) }, "a delivered folder of the log spool cannot be removed");
    }
  }

  return {
    get backlogs() {
      return folders.map(({ backlog }) => backlog);
    },
    dropOldest() {
      for (const [index, { path, backlog }] of folders.entries()) {
        const lost = backlog.dropSegment();
        if (lost !== null) return lost;
        // The one that is being delivered stays.
        if (index === 0) continue;
        folders.splice(index, 1);
        void remove(path);
        return backlog.records;
      }
      return null;
    },
    hurry: () => drain?.hurry(),
    done: run(),
  };
}
