import { withoutBodies } from "@unigate/events";
import type { NewRecord, Position } from "../log-store.ts";

/** A record in the store: what queries look at, and its bytes. */
export interface StoredRecord {
  readonly id: string;
  /** Unix ms. */
  readonly time: number;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly traceId: string;
  readonly apiKeyId: string | null;
  readonly provider: string | null;
  readonly providerSlug: string | null;
  readonly model: string | null;
  readonly responseModel: string | null;
  readonly status: number;
  /** The record's JSON, without its bodies once they were dropped. */
  bytes: Buffer;
  /** Offset at which the part without bodies ends. */
  readonly headEnd: number;
  /** Its bodies are to come, apart from it. */
  bodiesApart: boolean;
}

/** What the rest of an entry is taken to weigh, bytes. */
const OVERHEAD = 500;
/** A tail no longer than this holds no bodies worth dropping. */
const BARE_TAIL = 160;

export function storedRecord({ bytes, head, headEnd, bodiesApart = false }: NewRecord): StoredRecord {
  return {
    id: head.id,
    time: head.time,
    organisationId: head.organisation_id,
    workspaceId: head.workspace_id,
    traceId: head.trace_id,
    apiKeyId: head.api_key_id,
    provider: head.provider,
    providerSlug: head.provider_slug,
    model: head.model,
    responseModel: head.response_model,
    status: head.status,
    bytes: bodiesApart ? withoutBodies(bytes, headEnd) : bytes,
    headEnd,
    bodiesApart,
  };
}

/** Bytes that a record costs. */
export function weightOf(record: StoredRecord): number {
  return record.bytes.length + OVERHEAD;
}

/** Whether dropping its bodies would free anything. */
export function hasBodies(record: StoredRecord): boolean {
  return record.bytes.length - record.headEnd > BARE_TAIL;
}

/** Newest first by time, then by id: negative when `left` comes before `right`. */
export function newestFirst(left: Position, right: Position): number {
  if (left.time !== right.time) return right.time - left.time;
  if (left.id === right.id) return 0;
  return left.id > right.id ? -1 : 1;
}
