import type { EncodedRecord } from "@unigate/events";
import { encodeSpans, spansOf } from "@unigate/traces";
import type { Topics } from "./topics.ts";

/** A message on its way to Kafka. */
export interface OutgoingMessage {
  readonly topic: string;
  readonly key: Buffer | string | null;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string | Buffer>>;
}

/** CloudEvents types of the messages. */
export const LOG_EVENT_TYPE = "unigate.log.v1";
export const BODIES_EVENT_TYPE = "unigate.bodies.v1";
export const SPANS_EVENT_TYPE = "unigate.spans.v1";
/** The same for all senders: a record that another process sends again stays the same event. */
export const EVENT_SOURCE = "/unigate/edge";

const NO_BODIES = ',"request":null,"response":null}';

/**
 * The messages of a record: its head, and its bodies when it has any. A head without the fields `request` and
 * `response` says that they are in the other topic under the same id.
 */
export function messagesOf(record: EncodedRecord, topics: Topics): OutgoingMessage[] {
  const { bytes, head, headEnd } = record;
  const key = keyOf(head);
  const isWhole = bytes.length - headEnd === NO_BODIES.length && bytes.toString("utf8", headEnd) === NO_BODIES;
  const log: OutgoingMessage = {
    topic: topics.logs,
    key,
    value: isWhole ? bytes : Buffer.concat([bytes.subarray(0, headEnd), CLOSE]),
    headers: eventHeaders(head.id, LOG_EVENT_TYPE, head.time),
  };
  if (isWhole) return [log];
  const { id, schema_version, time, trace_id, organisation_id, workspace_id } = head;
  const start = JSON.stringify({ id, schema_version, time, trace_id, organisation_id, workspace_id }).slice(0, -1);
  const bodies: OutgoingMessage = {
    topic: topics.bodies,
    key,
    value: Buffer.concat([Buffer.from(start), bytes.subarray(headEnd)]),
    headers: eventHeaders(`${id}/bodies`, BODIES_EVENT_TYPE, time),
  };
  // Bodies first: mostly, a record that is seen has its bodies.
  return [bodies, log];
}

const CLOSE = Buffer.from("}");

/** The spans of a record, when they are wanted: the same bytes whenever the record is sent. */
export function spansMessageOf({ head }: EncodedRecord, topics: Topics): OutgoingMessage | null {
  const spans = head.sampled === true ? spansOf(head) : [];
  if (spans.length === 0) return null;
  const headers = eventHeaders(`${head.id}/spans`, SPANS_EVENT_TYPE, head.time, "application/x-protobuf");
  return { topic: topics.traces, key: keyOf(head), value: encodeSpans(spans), headers };
}

function keyOf({ trace_id: traceId, id }: EncodedRecord["head"]): string {
  return traceId === "" ? id : traceId;
}

/** CloudEvents 1.0, binary mode of the Kafka protocol binding. */
function eventHeaders(id: string, type: string, time: number, contentType = "application/json"): Record<string, string> {
  return {
    ce_specversion: "1.0",
    ce_id: id,
    ce_type: type,
    ce_source: EVENT_SOURCE,
    ce_time: new Date(time).toISOString(),
    "content-type": contentType,
  };
}

/** What a reader could not use, or its topic not take, and where it came from. */
export interface DeadMessage {
  readonly topic: string;
  /** -1, and so the offset, when its topic did not take it. */
  readonly partition: number;
  readonly offset: string;
  readonly key: Buffer | string | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, Buffer | string | (Buffer | string)[] | undefined>>;
  readonly reason: string;
  readonly detail: string;
}

/** The message as it came, with the reason beside its own headers. */
export function deadMessage(dead: DeadMessage, topics: Topics): OutgoingMessage {
  const headers: Record<string, string | Buffer> = {};
  for (const [name, value] of Object.entries(dead.headers)) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) headers[name] = first;
  }
  headers["unigate_reason"] = dead.reason;
  headers["unigate_detail"] = dead.detail.slice(0, 500);
  headers["unigate_topic"] = dead.topic;
  headers["unigate_partition"] = String(dead.partition);
  headers["unigate_offset"] = dead.offset;
  return { topic: topics.dead, key: dead.key, value: dead.value ?? Buffer.alloc(0), headers };
}
