import { boundMessage, textBody } from "./body.ts";
import type { DraftMessage, LogDraft } from "./draft.ts";
import type { LogHead } from "./record.ts";

/** A record as bytes, with its head at hand: the bytes are `head`, "," and the two messages, in this order. */
export interface EncodedRecord {
  readonly bytes: Buffer;
  readonly head: LogHead;
  /** Offset at which the head ends: bytes before it and a "}" are the JSON of the record without its bodies. */
  readonly headEnd: number;
}

/** A head longer than this loses its open-ended fields, so that a record always fits a message of 1 MiB. */
const MAX_HEAD_CHARACTERS = 128 * 1024;

const fresh = new WeakMap<Buffer, EncodedRecord>();

/**
 * The bytes of a record. A body known to be JSON goes in byte for byte. In one process the reader gets the head
 * without parsing: it is remembered beside the bytes until `takeFresh`.
 */
export function encodeRecord(draft: LogDraft): Buffer {
  const head = headText(draft.head);
  const bytes = joined(head, messagePieces(draft.request), messagePieces(draft.response));
  fresh.set(bytes, { bytes, head: draft.head, headEnd: Buffer.byteLength(head) });
  return bytes;
}

/** What `encodeRecord` remembered of bytes made in this process, once; undefined for bytes from elsewhere. */
export function takeFresh(bytes: Buffer): EncodedRecord | undefined {
  const known = fresh.get(bytes);
  if (known !== undefined) fresh.delete(bytes);
  return known;
}

/** The same layout from a record that came as JSON. */
export function encodeParsed(head: LogHead, request: unknown, response: unknown): EncodedRecord {
  const text = headText(head);
  const bytes = joined(text, [JSON.stringify(request)], [JSON.stringify(response)]);
  return { bytes, head, headEnd: Buffer.byteLength(text) };
}

/** A record whose bodies are dropped to save space. */
export function withoutBodies(bytes: Buffer, headEnd: number): Buffer {
  return joined(bytes.subarray(0, headEnd), [DROPPED], [DROPPED]);
}

const DROPPED = '{"headers":null,"body":null,"truncated":true}';

/** The JSON of a head without its closing brace. */
function headText(head: LogHead): string {
  const text = JSON.stringify(head);
  if (text.length <= MAX_HEAD_CHARACTERS) return text.slice(0, -1);
  return JSON.stringify({ ...head, metadata: {}, decision: null, hook_results: null, retries: head.retries.slice(0, 5) }).slice(0, -1);
}

/** Neighbouring texts are joined before they become bytes: a record of JSON bodies costs three small buffers. */
function joined(head: string | Buffer, request: readonly (string | Buffer)[], response: readonly (string | Buffer)[]): Buffer {
  const buffers: Buffer[] = [];
  let text = "";
  for (const piece of [head, ',"request":', ...request, ',"response":', ...response, "}"]) {
    if (typeof piece === "string") {
      text += piece;
      continue;
    }
    if (text !== "") buffers.push(Buffer.from(text));
    buffers.push(piece);
    text = "";
  }
  buffers.push(Buffer.from(text));
  return Buffer.concat(buffers);
}

function messagePieces(given: DraftMessage | null): (string | Buffer)[] {
  const message = boundMessage(given);
  if (message === null) return ["null"];
  const headers = `{"headers":${JSON.stringify(message.headers)},"body":`;
  if (message.body === null || message.body.length === 0) return [`${headers}null,"truncated":${message.truncated}}`];
  if (message.json && !message.truncated) return [headers, message.body, ',"truncated":false}'];
  const text = textBody(message.body);
  return [headers, text.json, `,"truncated":${message.truncated || text.cut}}`];
}
