import type { Failure, JsonReply, LogQuery, LogRef, Tenant } from "@unigate/contracts";
import { ERRORS, type ErrorCode } from "@unigate/core";
import { cursorOf, readCursor } from "./cursor.ts";
import { type LogFilter, matches, readFilter } from "./filter.ts";
import type { LogStore } from "./log-store.ts";
import type { Position, StoredRecord } from "./stored-record.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const NOTHING = Buffer.alloc(0);

/** Records newest first, without their bodies: {"object":"list","data":[...],"next_cursor","has_more"}. */
export function queryLogs(store: LogStore, query: LogQuery): JsonReply {
  const { tenant, from, to } = query;
  if (!names(tenant)) return failed("invalid_request", "A query names its organisation.", "");
  const limit = query.limit === 0 ? DEFAULT_LIMIT : query.limit;
  if (limit > MAX_LIMIT) return failed("invalid_request", `Expected a limit from 1 to ${MAX_LIMIT}.`, "limit");
  const after = query.cursor === "" ? null : readCursor(query.cursor);
  if (query.cursor !== "" && after === null) return failed("invalid_request", "Expected a next_cursor of an earlier answer.", "cursor");
  const read = readFilter(query.filterJson);
  if (!read.ok) return failed("invalid_request", read.message, read.param);
  return listed(selected(store, { tenant, from, to, filter: read.filter, after }, limit + 1), limit);
}

/** One record with its bodies. */
export function getLog(store: LogStore, { tenant, id }: LogRef): JsonReply {
  const record = names(tenant) ? store.get(id) : undefined;
  if (record === undefined || !sees(tenant, record)) return failed("not_found", "There is no log with this id.", "id");
  return { json: whole(record), nextCursor: "", failure: undefined };
}

interface Selection {
  readonly tenant: Tenant;
  readonly from: number;
  readonly to: number;
  readonly filter: LogFilter;
  readonly after: Position | null;
}

function selected(store: LogStore, { tenant, from, to, filter, after }: Selection, count: number): StoredRecord[] {
  const found: StoredRecord[] = [];
  for (const record of store.newest(after)) {
    if (record.time < from || found.length === count) break;
    if ((to === 0 || record.time < to) && sees(tenant, record) && matches(record, filter)) found.push(record);
  }
  return found;
}

/** `found` holds one record more than the page when there are more. */
function listed(found: readonly StoredRecord[], limit: number): JsonReply {
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const hasMore = found.length > limit;
  const nextCursor = hasMore && last !== undefined ? cursorOf(last) : "";
  const rows = page.map((record) => `${record.bytes.toString("utf8", 0, record.headEnd)}}`).join(",");
  const end = `"next_cursor":${nextCursor === "" ? "null" : JSON.stringify(nextCursor)},"has_more":${hasMore}}`;
  return { json: Buffer.from(`{"object":"list","data":[${rows}],${end}`), nextCursor, failure: undefined };
}

/** A body was taken for JSON on the writer's word; if that was wrong the record is given without its bodies. */
function whole({ bytes, headEnd }: StoredRecord): Buffer {
  try {
    JSON.parse(bytes.toString("utf8"));
    return bytes;
  } catch {
    return Buffer.from(`${bytes.toString("utf8", 0, headEnd)},"request":null,"response":null}`);
  }
}

/** A workspace sees its own records; an organisation (no workspace given) all of its workspaces. */
function sees(tenant: Tenant | undefined, record: StoredRecord): boolean {
  if (tenant === undefined || record.organisationId !== tenant.organisationId) return false;
  return tenant.workspaceId === "" || record.workspaceId === tenant.workspaceId;
}

function names(tenant: Tenant | undefined): tenant is Tenant {
  return tenant !== undefined && tenant.organisationId !== "";
}

function failed(code: ErrorCode, message: string, param: string): JsonReply {
  const failure: Failure = { code, message, param, status: ERRORS[code].status, type: "" };
  return { json: NOTHING, nextCursor: "", failure };
}
