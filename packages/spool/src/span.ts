import type { Segment } from "./segment.ts";

/** Some neighbouring records that are not delivered: in memory, in a part of a segment, or both. */
export interface Span {
  /** Null while it is only in memory. */
  segment: Segment | null;
  /** Where it begins and ends in the segment. */
  start: number;
  end: number;
  /** Null when it is only on disk. */
  records: readonly Buffer[] | null;
  /** How many records. */
  count: number;
  /** What it weighs in memory, bytes; 0 when it is only on disk. */
  bytes: number;
  /** Unix ms at which its first record came, or its segment was made. */
  readonly since: number;
  /** It is being delivered now. */
  busy: boolean;
  /** It was delivered or dropped. */
  gone: boolean;
}

export function memorySpan(records: readonly Buffer[], bytes: number, since: number): Span {
  return { segment: null, start: 0, end: 0, records, count: records.length, bytes, since, busy: false, gone: false };
}

export function diskSpan(segment: Segment, start: number, end: number, count: number): Span {
  return { segment, start, end, records: null, count, bytes: 0, since: segment.createdAt, busy: false, gone: false };
}
