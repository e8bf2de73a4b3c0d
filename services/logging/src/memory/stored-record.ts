import { withoutBodies } from "@unigate/events";
import type { NewRecord, Position } from "../log-store.ts";
import { bytesAt, type Place, type Slabs } from "./slabs.ts";

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
  /** Of the record's JSON, without its bodies once they were dropped. */
  place: Place;
  /** Offset at which the part without bodies ends. */
  readonly headEnd: number;
  /** Its bodies are to come, apart from it. */
  bodiesApart: boolean;
}

/** What the rest of an entry is taken to weigh, bytes. */
const OVERHEAD = 500;
/** A tail no longer than this holds no bodies worth dropping. */
const BARE_TAIL = 160;

export function storedRecord(slabs: Slabs, { bytes, head, headEnd, bodiesApart = false }: NewRecord): StoredRecord {
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
    place: slabs.keep(bodiesApart ? withoutBodies(bytes, headEnd) : bytes),
    headEnd,
    bodiesApart,
  };
}

/** Bytes that a record costs. */
export function weightOf(record: StoredRecord): number {
  return sizeOf(record) + OVERHEAD;
}

function sizeOf({ place }: StoredRecord): number {
  return place.end - place.start;
}

/** The record's JSON, for as long as the store keeps it: its memory is used again. */
export function bytesOf({ place }: StoredRecord): Buffer {
  return bytesAt(place);
}

/** Whether dropping its bodies would free anything. */
export function hasBodies(record: StoredRecord): boolean {
  return sizeOf(record) - record.headEnd > BARE_TAIL;
}

/** Newest first by time, then by id: negative when `left` comes before `right`. */
export function newestFirst(left: Position, right: Position): number {
  if (left.time !== right.time) return right.time - left.time;
  if (left.id === right.id) return 0;
  return left.id > right.id ? -1 : 1;
}
