import type { Failure, JsonReply, LogQuery, LogRef, Tenant } from "@unigate/contracts";
import { ERRORS, type ErrorCode } from "@unigate/core";
import { cursorOf, readCursor } from "./cursor.ts";
import { readFilter } from "./filter.ts";
import type { LogPage, LogStore } from "./log-store.ts";
import { shownHead, shownRecord } from "./shown-log.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const NOTHING = Buffer.alloc(0);

/** Records newest first, without their bodies: {"object":"list","data":[...],"has_more","next_cursor"}. */
export async function queryLogs(store: LogStore, query: LogQuery): Promise<JsonReply> {
  const { tenant, from, to } = query;
  if (!names(tenant)) return failed("invalid_request", "A query names its organisation.", "");
  const limit = query.limit === 0 ? DEFAULT_LIMIT : query.limit;
  if (limit > MAX_LIMIT) return failed("invalid_request", `Expected a limit from 1 to ${MAX_LIMIT}.`, "limit");
  const after = query.cursor === "" ? null : readCursor(query.cursor);
  if (query.cursor !== "" && after === null) return failed("invalid_request", "Expected a next_cursor of an earlier answer.", "cursor");
  const read = readFilter(query.filterJson);
  if (!read.ok) return failed("invalid_request", read.message, read.param);
  const page = await store.list({ tenant, from, to, filter: read.filter, after, limit });
  if (page.kind === "page") return listed(page);
  return failed("overloaded", "Too many logs would have to be looked through: ask for a shorter range of time, or for a trace.", "from");
}

/** One record with its bodies. */
export async function getLog(store: LogStore, { tenant, id }: LogRef): Promise<JsonReply> {
  const found = names(tenant) ? await store.get(tenant, id) : null;
  if (found === null) return failed("not_found", "There is no log with this id.", "id");
  return { json: shownRecord(found), nextCursor: "", failure: undefined };
}

function listed({ rows, hasMore }: Extract<LogPage, { kind: "page" }>): JsonReply {
  const last = rows.at(-1);
  const nextCursor = hasMore && last !== undefined ? cursorOf(last) : "";
  const end = `"has_more":${hasMore},"next_cursor":${nextCursor === "" ? "null" : JSON.stringify(nextCursor)}}`;
  return {
    json: Buffer.from(`{"object":"list","data":[${rows.map(({ head }) => shownHead(head)).join(",")}],${end}`),
    nextCursor,
    failure: undefined,
  };
}

function names(tenant: Tenant | undefined): tenant is Tenant {
  return tenant !== undefined && tenant.organisationId !== "";
}

/** A refusal, in the words of the error table. */
export function failed(code: ErrorCode, message: string, param: string): JsonReply {
  const failure: Failure = { code, message, param, status: ERRORS[code].status, type: "" };
  return { json: NOTHING, nextCursor: "", failure };
}
