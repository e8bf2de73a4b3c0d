import { deeperThan, isObject, type JsonObject } from "@unigate/core";
import { type EncodedRecord, encodeParsed, takeFresh } from "./encode.ts";
import { type LogHead, logRecordSchema, SCHEMA_VERSION } from "./record.ts";

/** Why bytes are no record that can be stored. */
export type RefusalReason = "too_large" | "invalid_json" | "unknown_schema_version" | "invalid_record";

export type ReadRecord =
  | { readonly ok: true; readonly record: EncodedRecord }
  | { readonly ok: false; readonly reason: RefusalReason; readonly detail: string };

/** Longest record that is read, bytes. */
const MAX_RECORD_BYTES = 2 * 1024 * 1024;

/** Deepest nesting of a record, well beyond what a gateway writes: bodies of MAX_JSON_DEPTH levels and results of checks in them. */
export const MAX_RECORD_DEPTH = 1_000;

/** The record in some bytes. Bytes made in this process are not parsed again; all others are checked whole. Never throws. */
export function readRecord(bytes: Buffer): ReadRecord {
  const known = takeFresh(bytes);
  if (known !== undefined) return { ok: true, record: known };
  if (bytes.length > MAX_RECORD_BYTES) return refused("too_large", `${bytes.length} bytes`);
  const json = parsed(bytes);
  if (!isObject(json)) return refused("invalid_json", "not a JSON object");
  const version = json["schema_version"];
  if (version !== SCHEMA_VERSION) return refused("unknown_schema_version", `expected ${SCHEMA_VERSION}, found ${shown(version)}`);
  return checked(json);
}

function checked(json: JsonObject): ReadRecord {
  const result = logRecordSchema.safeParse(json);
  if (!result.success) {
    const issue = result.error.issues[0];
    return refused("invalid_record", `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "invalid"}`);
  }
  if (deeperThan(json, MAX_RECORD_DEPTH)) return refused("invalid_record", `nested deeper than ${MAX_RECORD_DEPTH} levels`);
  const { request, response, ...head } = json;
  // The head as it came, not as the schema rebuilt it: fields of newer writers stay.
  return { ok: true, record: encodeParsed(head as LogHead, request, response) };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

function refused(reason: RefusalReason, detail: string): ReadRecord {
  return { ok: false, reason, detail };
}

function shown(value: unknown): string {
  return typeof value === "number" ? String(value) : typeof value;
}
