import { createHash } from "node:crypto";
import { typeOfStatus } from "@unigate/core";
import { type LogDraft, newHead } from "@unigate/events";

/** What is known of a request when it is admitted: enough for a record, should the process die before the request ends. */
export interface StartedRequest {
  /** Unix ms at which it came. */
  readonly time: number;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty = none. */
  readonly parentSpanId: string;
  /** Empty = not named. */
  readonly spanName: string;
  readonly sampled: boolean;
  readonly requestId: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  /** Id of the gateway key; empty = none. */
  readonly apiKeyId: string;
  readonly surface: string;
  readonly method: string;
  /** Below /v1, without the query. Cut at 256 characters. */
  readonly path: string;
}

const PATH = 256;

export function startedText(started: StartedRequest): string {
  return JSON.stringify([
    started.time,
    started.traceId,
    started.spanId,
    started.parentSpanId,
    started.requestId,
    started.organisationId,
    started.workspaceId,
    started.apiKeyId,
    started.surface,
    started.method,
    started.path.length <= PATH ? started.path : started.path.slice(0, PATH),
    started.sampled ? "1" : "",
    started.spanName,
  ]);
}

/**
 * The record of a request that its process left unfinished, after `attempts` records. The same request gives the same
 * id however often it is recovered. Null when the text is not one of `startedText`.
 */
export function interruptedDraft(text: string, attempts: number): LogDraft | null {
  const fields = parsed(text);
  if (fields === null) return null;
  const [time, ...words] = fields;
  const word = (index: number): string => words[index] ?? "";
  const head = newHead(idOf(time, text), time);
  head.trace_id = word(0);
  head.span_id = word(1);
  head.parent_span_id = word(2) === "" ? null : word(2);
  head.request_id = word(3);
  head.attempt = attempts;
  head.organisation_id = word(4);
  head.workspace_id = word(5);
  head.api_key_id = word(6) === "" ? null : word(6);
  head.surface = word(7);
  head.method = word(8);
  head.path = word(9);
  head.sampled = word(10) !== "";
  if (word(11) !== "") head.span_name = word(11);
  head.last = true;
  head.outcome = "interrupted";
  head.error = {
    code: "internal",
    type: typeOfStatus(500),
    message: "The gateway's process ended before the request did.",
    blame: "gateway",
  };
  return { head, request: null, response: null };
}

function parsed(text: string): [number, ...string[]] | null {
  try {
    const fields: unknown = JSON.parse(text);
    if (!Array.isArray(fields)) return null;
    const [time, ...words] = fields as unknown[];
    if (typeof time !== "number" || !Number.isInteger(time) || time < 0) return null;
    return words.every((word) => typeof word === "string") ? [time, ...words] : null;
  } catch {
    return null;
  }
}

/** A UUID of version 7's form: the time, then what the rest of the request says. */
function idOf(time: number, text: string): string {
  const bytes = createHash("sha256").update(text).digest().subarray(0, 16);
  bytes.writeUIntBE(Math.min(time, 2 ** 48 - 1), 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
