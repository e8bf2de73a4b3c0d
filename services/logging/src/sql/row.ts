import { createHash } from "node:crypto";
import type { RecordBodies } from "@unigate/kafka";
import type { NewRecord } from "../log-store.ts";

/** Bodies as their table takes them. */
export interface BodyRow {
  readonly time: number;
  readonly id: string;
  readonly organisationId: string;
  readonly body: string;
  readonly bytes: number;
}

/** A record as the tables take it. */
export interface Row extends Omit<BodyRow, "body"> {
  /** Values of logs.records, in the order of `RECORD_COLUMNS`. */
  readonly values: readonly (string | number | null)[];
  /** The request and the response, when they are worth a row of their own; else they are among `values`. */
  readonly body: string | null;
}

export const RECORD_COLUMNS = [
  "time",
  "id",
  "organisation_id",
  "workspace_id",
  "trace_id",
  "api_key_id",
  "provider",
  "provider_slug",
  "model",
  "response_model",
  "status",
  "head",
  "tail",
] as const;

/** A tail no longer than this holds no bodies and stays with its record. */
const BARE_TAIL = 160;
/** Longest text that is indexed, characters: an index entry has a limit, and these texts come from clients. */
const MAX_KEY = 200;
const NOTHING_KEPT = ',"request":null,"response":null}';

export function rowOf({ bytes, head, headEnd, bodiesApart = false }: NewRecord): Row {
  const tail = keepable(bytes.toString("utf8", headEnd));
  const isBare = tail.length <= BARE_TAIL;
  const id = keyText(head.id);
  const organisationId = keyText(head.organisation_id);
  return {
    time: head.time,
    id,
    organisationId,
    values: [
      head.time,
      id,
      organisationId,
      keyText(head.workspace_id),
      keyText(head.trace_id),
      keyOrNull(head.api_key_id),
      keyOrNull(head.provider),
      keyOrNull(head.provider_slug),
      keyOrNull(head.model),
      keyOrNull(head.response_model),
      head.status >= 0 && head.status <= 999 ? head.status : 0,
      `${bytes.toString("utf8", 0, headEnd)}}`,
      isBare && !bodiesApart ? tail : null,
    ],
    body: isBare || bodiesApart ? null : tail,
    bytes: bytes.length,
  };
}

export function bodyRowOf({ id, time, organisationId, tail }: RecordBodies): BodyRow {
  return { time, id: keyText(id), organisationId: keyText(organisationId), body: keepable(tail), bytes: tail.length };
}

/** A NUL is in no JSON, and in no text of PostgreSQL. */
function keepable(tail: string): string {
  return tail.includes("\0") ? NOTHING_KEPT : tail;
}

/**
 * A text as it is looked for: itself, or a beginning and a hash when PostgreSQL could not store or index it, whatever a
 * client sent. Look-ups use it too.
 */
export function keyText(text: string): string {
  if (text.length <= MAX_KEY && !/[\0\ud800-\udfff]/.test(text)) return text;
  const hash = createHash("sha256").update(text, "utf16le").digest("hex");
  return `${text.slice(0, MAX_KEY).replace(/[\0\ud800-\udfff]/g, "\ufffd")}#${hash}`;
}

function keyOrNull(text: string | null): string | null {
  return text === null ? null : keyText(text);
}
