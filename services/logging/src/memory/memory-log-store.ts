import type { RecordBodies } from "@unigate/kafka";
import type { AddOutcome, LogRow, LogSelection, LogStore, LogTenant, NewRecord } from "../log-store.ts";
import { matches } from "./matches.ts";
import { createRecordList, type RecordList, type RecordListLimits } from "./record-list.ts";
import { bytesOf, type StoredRecord } from "./stored-record.ts";

/** The store in memory: the last records, gone with the process. */
export interface MemoryLogStore extends LogStore {
  /** Every record, whoever's it is, newest first. */
  all(): LogRow[];
  /** One record at once; false when it came again. */
  take(record: NewRecord): boolean;
  /** Bodies that came apart, at once; false when they came again. */
  takeBodies(bodies: RecordBodies): boolean;
}

/** When it is full the bodies of the oldest records go first, then the oldest records. */
export function createLogStore(limits: Partial<RecordListLimits> = {}): MemoryLogStore {
  const list = createRecordList(limits);
  return {
    async add(records): Promise<AddOutcome> {
      let stored = 0;
      for (const record of records) if (list.add(record)) stored += 1;
      return { stored, duplicates: records.length - stored, expired: 0, refused: 0, detail: "" };
    },
    async addBodies(bodies): Promise<AddOutcome> {
      const stored = bodies.filter((one) => list.addBodies(one)).length;
      return { stored, duplicates: bodies.length - stored, expired: 0, refused: 0, detail: "" };
    },
    async list(selection) {
      const found = selected(list, selection);
      const rows = found.slice(0, selection.limit).map(rowOf);
      return { kind: "page", rows, hasMore: found.length > selection.limit };
    },
    async get(tenant, id) {
      const record = list.get(id);
      return record === undefined || !sees(tenant, record) ? null : { head: headOf(record), bytes: Buffer.from(bytesOf(record)) };
    },
    async close() {},
    take: list.add,
    takeBodies: list.addBodies,
    all: () => Array.from(list.newest(null), rowOf),
  };
}

/** One more than the limit when there are more. */
function selected(list: RecordList, { tenant, from, to, filter, after, limit }: LogSelection): StoredRecord[] {
  const found: StoredRecord[] = [];
  for (const record of list.newest(after)) {
    if (record.time < from || found.length > limit) break;
    if ((to === 0 || record.time < to) && sees(tenant, record) && matches(record, filter)) found.push(record);
  }
  return found;
}

function sees(tenant: LogTenant, record: StoredRecord): boolean {
  if (record.organisationId !== tenant.organisationId) return false;
  return tenant.workspaceId === "" || record.workspaceId === tenant.workspaceId;
}

function rowOf(record: StoredRecord): LogRow {
  return { time: record.time, id: record.id, head: headOf(record) };
}

function headOf(record: StoredRecord): string {
  return `${bytesOf(record).toString("utf8", 0, record.headEnd)}}`;
}
