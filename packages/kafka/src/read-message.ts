import { deeperThan, isObject, type JsonObject } from "@unigate/core";
import { type EncodedRecord, MAX_RECORD_DEPTH, type RefusalReason, readRecord, SCHEMA_VERSION } from "@unigate/events";
import { bodiesMessageSchema } from "./message-schema.ts";

/** Why a message is of no use, for its reader and for the dead topic. */
export interface Refusal {
  readonly ok: false;
  readonly reason: RefusalReason;
  readonly detail: string;
}

/** The record of a message of the logs topic; `bodiesApart` says that its bodies come in a message of their own. */
export type ReadLogMessage = { readonly ok: true; readonly record: EncodedRecord; readonly bodiesApart: boolean } | Refusal;

/** Bodies of a record that comes in a message of its own. */
export interface RecordBodies {
  readonly id: string;
  /** Unix ms, of the record. */
  readonly time: number;
  readonly organisationId: string;
  /** What follows the head in the JSON of the record: `,"request":...,"response":...}`. */
  readonly tail: string;
}

export type ReadBodiesMessage = { readonly ok: true; readonly bodies: RecordBodies } | Refusal;

/** Longest message that is read, bytes. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
const NO_BODIES = Buffer.from(',"request":null,"response":null}');

/** Never throws. */
export function readLogMessage(value: Buffer | null): ReadLogMessage {
  const json = parsed(value);
  if (value === null || !isObject(json)) return notJson(value);
  // Of an empty object the joined text would be no JSON.
  const bodiesApart = Object.keys(json).length > 0 && !Object.hasOwn(json, "request") && !Object.hasOwn(json, "response");
  const end = value.lastIndexOf("}");
  const read = readRecord(bodiesApart ? Buffer.concat([value.subarray(0, end), NO_BODIES]) : value);
  return read.ok ? { ok: true, record: read.record, bodiesApart } : read;
}

/** Never throws. */
export function readBodiesMessage(value: Buffer | null): ReadBodiesMessage {
  const json = parsed(value);
  if (!isObject(json)) return notJson(value);
  const version = json["schema_version"];
  if (version !== SCHEMA_VERSION) {
    const found = typeof version === "number" ? version : typeof version;
    return { ok: false, reason: "unknown_schema_version", detail: `expected ${SCHEMA_VERSION}, found ${found}` };
  }
  const result = bodiesMessageSchema.safeParse(json);
  if (!result.success) {
    const issue = result.error.issues[0];
    return { ok: false, reason: "invalid_record", detail: `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "invalid"}` };
  }
  if (deeperThan(json, MAX_RECORD_DEPTH)) {
    return { ok: false, reason: "invalid_record", detail: `nested deeper than ${MAX_RECORD_DEPTH} levels` };
  }
  const { id, time, organisation_id: organisationId } = result.data;
  return { ok: true, bodies: { id, time, organisationId, tail: tailOf(json) } };
}

/** The bodies as they came, not as the schema rebuilt them: fields of newer writers stay. */
function tailOf({ request, response }: JsonObject): string {
  return `,"request":${JSON.stringify(request)},"response":${JSON.stringify(response)}}`;
}

function parsed(value: Buffer | null): unknown {
  if (value === null || value.length > MAX_MESSAGE_BYTES) return undefined;
  try {
    return JSON.parse(value.toString("utf8"));
  } catch {
    return undefined;
  }
}

function notJson(value: Buffer | null): Refusal {
  if (value === null) return { ok: false, reason: "invalid_json", detail: "no value" };
  if (value.length > MAX_MESSAGE_BYTES) return { ok: false, reason: "too_large", detail: `${value.length} bytes` };
  return { ok: false, reason: "invalid_json", detail: "not a JSON object" };
}
