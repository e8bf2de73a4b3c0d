import type { AppendBatch } from "@unigate/contracts";
import { backgroundCall, boundCall, type Call, CancelToken, sleep } from "@unigate/core";
import type { Backlog } from "./backlog.ts";
import type { SpoolLimits } from "./limits.ts";
import { codeOf } from "./log.ts";
import type { Position, PositionKeeper } from "./position.ts";
import type { Span } from "./span.ts";
import { createSpanReader } from "./span-reader.ts";

/**
 * Takes records to where they are stored: true once they are, false or an error when they must come again. `offset`
 * counts the records of this spool folder. The call's cancel token says when nobody waits any more.
 */
export type Deliver = (batch: AppendBatch, call: Call) => Promise<boolean>;

/** Delivers one folder's records in order, one batch at a time, each until it is acknowledged. */
export interface Drain {
  /** There may be more to deliver. */
  wake(): void;
  /** Ends the wait after a delivery or a failed one. */
  hurry(): void;
  /** Ends when `closing` is cancelled, and with `untilEmpty` when all is delivered. */
  readonly done: Promise<void>;
}

export interface DrainDeps {
  readonly spoolId: string;
  readonly backlog: Backlog;
  readonly deliver: Deliver;
  readonly limits: SpoolLimits;
  readonly random: () => number;
  readonly closing: CancelToken;
  readonly position: PositionKeeper;
  /** Whether records may go out that no disk holds. */
  readonly mayTakeUnwritten: () => boolean;
  readonly untilEmpty: boolean;
  readonly onDelivered: (records: number) => void;
  /** A delivery failed. */
  readonly onBreak: () => void;
  /** Records on disk cannot be read. */
  readonly onUnreadable: (records: number, code: string) => void;
}

interface Batch {
  readonly records: readonly Buffer[];
  readonly acknowledge: () => void;
}

/** Failed reads of one place after which it is given up: a short want of memory or files passes. */
const READ_TRIES = 4;

export function startDrain(deps: DrainDeps): Drain {
  const { backlog, limits, closing } = deps;
  const reader = createSpanReader(limits.batchRecords, limits.batchBytes);
  const parent: Call = { ...backgroundCall(), cancel: closing };
  let wake: () => void = nothing;
  let pause: CancelToken | null = null;
  let [failures, readFailures, offset] = [0, 0, 0];
  const stopListening = closing.onCancel(() => {
    wake();
    pause?.cancel("shutdown");
  });

  async function run(): Promise<void> {
    while (!closing.cancelled) {
      const spans = backlog.take(limits.batchRecords, limits.batchBytes, deps.mayTakeUnwritten());
      if (spans.length === 0) {
        if (deps.untilEmpty && backlog.records === 0) break;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const batch = await batchOf(spans);
      if (batch !== null && (batch.records.length === 0 || (await deliverOnce(batch.records)))) {
        failures = 0;
        batch.acknowledge();
        if (!deps.untilEmpty && backlog.records < limits.batchRecords / 2) await pauseFor(limits.deliverDelayMs);
        continue;
      }
      backlog.release(spans);
      await backOff();
    }
    stopListening();
    await reader.close().catch(nothing);
  }

  async function deliverOnce(records: readonly Buffer[]): Promise<boolean> {
    const { call, done } = boundCall(parent, limits.deliverTimeoutMs);
    const givenUp = new Promise<boolean>((resolve) => call.cancel.onCancel(() => resolve(false)));
    try {
      const sent = deps.deliver({ spoolId: deps.spoolId, offset: offset + records.length, records: records as Buffer[] }, call);
      const acknowledged = await Promise.race([sent, givenUp]);
      if (acknowledged) offset += records.length;
      else if (!closing.cancelled) deps.onBreak();
      return acknowledged;
    } catch {
      deps.onBreak();
      return false;
    } finally {
      done();
    }
  }

  async function backOff(): Promise<void> {
    failures += 1;
    await pauseFor(deps.random() * Math.min(limits.maxBackoffMs, limits.backoffMs * 2 ** (failures - 1)));
  }

  async function pauseFor(ms: number): Promise<void> {
    if (closing.cancelled) return;
    pause = new CancelToken();
    await sleep(ms, pause);
    pause = null;
  }

  /** Null when the disk could not be read this time. */
  async function batchOf(spans: readonly Span[]): Promise<Batch | null> {
    const first = spans[0];
    if (first !== undefined && first.records === null && first.segment !== null) return diskBatch(first, first.segment.number);
    const records = spans.flatMap((span) => span.records ?? []);
    return {
      records,
      acknowledge() {
        backlog.remove(spans);
        const last = spans.findLast((span) => span.segment !== null);
        delivered(records.length, last?.segment == null ? null : { segment: last.segment.number, offset: last.end });
      },
    };
  }

  async function diskBatch(span: Span, segment: number): Promise<Batch | null> {
    try {
      if (span.segment === null) return null;
      const part = await reader.read(span, span.segment);
      readFailures = 0;
      return {
        records: part.records,
        acknowledge() {
          backlog.advance(span, part.next, part.records.length);
          const isOver = part.damaged || part.next >= span.end;
          if (isOver) giveUp(span, part.damaged ? "damaged" : "");
          else backlog.release([span]);
          delivered(part.records.length, { segment, offset: isOver ? span.end : part.next });
        },
      };
    } catch (error) {
      readFailures += 1;
      if (readFailures < READ_TRIES) return null;
      readFailures = 0;
      return { records: [], acknowledge: () => giveUp(span, codeOf(error)) };
    }
  }

  function giveUp(span: Span, code: string): void {
    if (code !== "") deps.onUnreadable(span.count, code);
    backlog.remove([span]);
  }

  function delivered(records: number, position: Position | null): void {
    if (position !== null) deps.position.note(position);
    if (records > 0) deps.onDelivered(records);
  }

  return { wake: () => wake(), hurry: () => pause?.cancel("superseded"), done: run() };
}

function nothing(): void {}
