import type { Segment } from "./segment.ts";
import type { Span } from "./span.ts";

/**
 * What one folder has still to deliver, oldest first, and the segments that hold it. Only bookkeeping: it touches no
 * file. Written spans stay in memory as well while there is room, so that a reader that keeps up never reads the disk.
 */
export interface Backlog {
  /** Records not delivered. */
  readonly records: number;
  /** Of them, those that no segment holds yet, and their bytes. */
  readonly unwrittenRecords: number;
  readonly unwrittenBytes: number;
  /** Bytes in memory that a segment holds too. */
  readonly tailBytes: number;
  readonly segments: readonly Segment[];
  readonly diskBytes: number;
  /** Unix ms of the oldest record, or null. */
  oldest(): number | null;
  push(span: Span): void;
  addSegment(segment: Segment): void;
  /** The segment's file needs nothing any more but that its spans are delivered. */
  finishSegment(segment: Segment): void;
  /** A span's records are on disk now as well. */
  placed(span: Span, segment: Segment, start: number, end: number): void;
  /**
   * The oldest spans, as many as fit, marked busy: several in memory, or one on disk. Those that are only in memory
   * are left until they are written, unless `unwritten`.
   */
  take(mostRecords: number, mostBytes: number, unwritten: boolean): readonly Span[];
  /** They are not delivered after all. */
  release(spans: readonly Span[]): void;
  /** They are delivered. */
  remove(spans: readonly Span[]): void;
  /** The first `count` records of a span on disk are delivered; the next begins at `start`. */
  advance(span: Span, start: number, count: number): void;
  /** Forgets the oldest segment that may go, for want of space. Gives how many records are lost; null when none may go. */
  dropSegment(): number | null;
}

/** `onFree` gets each segment that is needed no more. */
export function createBacklog(tailLimit: number, onFree: (segment: Segment) => void): Backlog {
  let spans: Span[] = [];
  let segments: Segment[] = [];
  let [records, unwrittenRecords, unwrittenBytes, tailBytes] = [0, 0, 0, 0];

  function weigh(span: Span, sign: 1 | -1): void {
    if (span.segment !== null) {
      tailBytes += sign * span.bytes;
      return;
    }
    unwrittenRecords += sign * span.count;
    unwrittenBytes += sign * span.bytes;
  }

  function free(segment: Segment): void {
    if (segment.kept || segment.spans > 0) return;
    segments = segments.filter((one) => one !== segment);
    onFree(segment);
  }

  /** Takes a span out of the books; its place in the queue is for the caller to clear. */
  function settle(span: Span): void {
    if (span.gone) return;
    span.gone = true;
    records -= span.count;
    weigh(span, -1);
    if (span.segment === null) return;
    span.segment.spans -= 1;
    free(span.segment);
  }

  /** Frees the memory of the oldest written spans, which the disk holds; neighbours become one. */
  function evict(): void {
    for (let index = 0; tailBytes > tailLimit && index < spans.length; index++) {
      const span = spans[index];
      if (span === undefined || span.segment === null) return;
      if (span.records === null || span.busy) continue;
      tailBytes -= span.bytes;
      const before = spans[index - 1];
      if (before !== undefined && before.records === null && !before.busy && before.segment === span.segment) {
        before.end = span.end;
        before.count += span.count;
        span.gone = true;
        span.segment.spans -= 1;
        spans.splice(index, 1);
        index -= 1;
        continue;
      }
      // The object stays: its writer may hold it.
      span.records = null;
      span.bytes = 0;
    }
  }

  /** Clears the queue of `count` spans that went, most often its oldest ones. */
  function clear(count: number): void {
    let gone = 0;
    while (spans[gone]?.gone === true) gone += 1;
    spans.splice(0, gone);
    if (gone < count) spans = spans.filter((span) => !span.gone);
  }

  return {
    get records() {
      return records;
    },
    get unwrittenRecords() {
      return unwrittenRecords;
    },
    get unwrittenBytes() {
      return unwrittenBytes;
    },
    get tailBytes() {
      return tailBytes;
    },
    get segments() {
      return segments;
    },
    get diskBytes() {
      return segments.reduce((sum, segment) => sum + segment.bytes, 0);
    },
    oldest: () => spans[0]?.since ?? null,
    push(span) {
      spans.push(span);
      records += span.count;
      weigh(span, 1);
      if (span.segment !== null) span.segment.spans += 1;
    },
    addSegment(segment) {
      segments.push(segment);
    },
    finishSegment(segment) {
      segment.kept = false;
      free(segment);
    },
    placed(span, segment, start, end) {
      if (span.gone) return;
      weigh(span, -1);
      span.segment = segment;
      span.start = start;
      span.end = end;
      segment.spans += 1;
      weigh(span, 1);
      evict();
    },
    take(mostRecords, mostBytes, unwritten) {
      const taken: Span[] = [];
      let [count, bytes] = [0, 0];
      for (const span of spans) {
        if (span.segment === null && !unwritten) break;
        if (taken.length > 0 && (span.records === null || count + span.count > mostRecords || bytes + span.bytes > mostBytes)) break;
        taken.push(span);
        span.busy = true;
        count += span.count;
        bytes += span.bytes;
        if (span.records === null) break;
      }
      return taken;
    },
    release(taken) {
      for (const span of taken) span.busy = false;
      evict();
    },
    remove(taken) {
      for (const span of taken) settle(span);
      clear(taken.length);
    },
    advance(span, start, count) {
      span.start = start;
      span.count -= count;
      records -= count;
    },
    dropSegment() {
      const doomed = segments.find((segment) => !segment.kept && !spans.some((span) => span.busy && span.segment === segment));
      if (doomed === undefined) return null;
      const before = records;
      const lost = spans.filter((span) => span.segment === doomed);
      for (const span of lost) settle(span);
      clear(lost.length);
      return before - records;
    },
  };
}
