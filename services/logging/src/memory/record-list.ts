import { withoutBodies } from "@unigate/events";
import type { RecordBodies } from "@unigate/kafka";
import type { NewRecord, Position } from "../log-store.ts";
import { createEarlyBodies } from "./early-bodies.ts";
import { createSlabs } from "./slabs.ts";
import { bytesOf, hasBodies, newestFirst, type StoredRecord, storedRecord, weightOf } from "./stored-record.ts";

/** The last records in memory, in the order of their time. */
export interface RecordList {
  /** False when a record with this id is there already. */
  add(record: NewRecord): boolean;
  /** False when the record has its bodies already. Bodies without a record wait for it. */
  addBodies(bodies: RecordBodies): boolean;
  get(id: string): StoredRecord | undefined;
  /** Records newest first, from the one after `after` on; all when it is null. */
  newest(after: Position | null): Iterable<StoredRecord>;
  stats(): RecordListStats;
}

export interface RecordListStats {
  readonly records: number;
  readonly bytes: number;
  readonly stored: number;
  /** Records that came again. */
  readonly duplicates: number;
  /** Records whose bodies were dropped to save space. */
  readonly bodiesDropped: number;
  /** Records dropped to save space, the oldest first. */
  readonly recordsDropped: number;
}

export interface RecordListLimits {
  /** Default 10,000. */
  readonly records: number;
  /** Default 128 MiB. */
  readonly bytes: number;
}

const DEFAULTS: RecordListLimits = { records: 10_000, bytes: 128 * 1024 * 1024 };

/** When it is full the bodies of the oldest records go first, then the oldest records. */
export function createRecordList(given: Partial<RecordListLimits> = {}): RecordList {
  const limits: RecordListLimits = { ...DEFAULTS, ...given };
  /** Oldest first: new records come at the end, or close to it. */
  const records: StoredRecord[] = [];
  const byId = new Map<string, StoredRecord>();
  const slabs = createSlabs();
  /** How many of the oldest are known to have no bodies. */
  let bare = 0;
  const early = createEarlyBodies(limits.bytes / 4);
  let [bytes, stored, duplicates, bodiesDropped, recordsDropped] = [0, 0, 0, 0, 0];

  function insert(record: StoredRecord): void {
    let at = records.length;
    for (; at > 0; at--) {
      const before = records[at - 1];
      if (before === undefined || newestFirst(before, record) > 0) break;
    }
    records.splice(at, 0, record);
    if (at < bare) bare = hasBodies(record) ? at : bare + 1;
  }

  function dropOldest(): void {
    const oldest = records.shift();
    if (oldest === undefined) return;
    byId.delete(oldest.id);
    slabs.release(oldest.place);
    bytes -= weightOf(oldest);
    bare = Math.max(0, bare - 1);
    recordsDropped += 1;
  }

  function replace(record: StoredRecord, ...pieces: readonly Buffer[]): void {
    const before = record.place;
    bytes -= weightOf(record);
    record.place = slabs.keep(...pieces);
    bytes += weightOf(record);
    slabs.release(before);
  }

  /** False when no record has bodies left. */
  function dropOldestBodies(): boolean {
    for (; bare < records.length; bare++) {
      const record = records[bare];
      if (record === undefined || !hasBodies(record)) continue;
      replace(record, withoutBodies(bytesOf(record), record.headEnd));
      bodiesDropped += 1;
      bare += 1;
      return true;
    }
    return false;
  }

  function setBodies(record: StoredRecord, { organisationId, tail }: RecordBodies): boolean {
    if (!record.bodiesApart || record.organisationId !== organisationId) return false;
    record.bodiesApart = false;
    replace(record, bytesOf(record).subarray(0, record.headEnd), Buffer.from(tail));
    bare = Math.min(bare, startOf(records, record));
    return true;
  }

  function keepWithin(): void {
    while (records.length > limits.records) dropOldest();
    while (bytes > limits.bytes && dropOldestBodies());
    while (bytes > limits.bytes && records.length > 0) dropOldest();
  }

  return {
    add(encoded) {
      if (byId.has(encoded.head.id)) {
        duplicates += 1;
        return false;
      }
      const record = storedRecord(slabs, encoded);
      insert(record);
      byId.set(record.id, record);
      bytes += weightOf(record);
      stored += 1;
      const bodies = record.bodiesApart ? early.take(record.id) : undefined;
      if (bodies !== undefined) setBodies(record, bodies);
      keepWithin();
      return true;
    },
    addBodies(bodies) {
      const record = byId.get(bodies.id);
      if (record === undefined) return early.add(bodies);
      const isNew = setBodies(record, bodies);
      keepWithin();
      return isNew;
    },
    get: (id) => byId.get(id),
    *newest(after) {
      for (let at = startOf(records, after) - 1; at >= 0; at--) {
        const record = records[at];
        if (record !== undefined) yield record;
      }
    },
    stats: () => ({ records: records.length, bytes, stored, duplicates, bodiesDropped, recordsDropped }),
  };
}

/** How many of the records, oldest first, come after `after` in a list. */
function startOf(records: readonly StoredRecord[], after: Position | null): number {
  if (after === null) return records.length;
  let [low, high] = [0, records.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const record = records[middle];
    if (record !== undefined && newestFirst(record, after) > 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
