import { boundMessage, textBody } from "./body.ts";
import type { DraftMessage, LogDraft } from "./draft.ts";
import type { LogHead } from "./record.ts";
import { placeFor, taken } from "./record-memory.ts";

/** A record as bytes, with its head at hand: the bytes are `head`, "," and the two messages, in this order. */
export interface EncodedRecord {
  readonly bytes: Buffer;
  readonly head: LogHead;
  /** Offset at which the head ends: bytes before it and a "}" are the JSON of the record without its bodies. */
  readonly headEnd: number;
}

/** A head longer than this loses its open-ended fields, so that a record always fits a message of 1 MiB. */
const MAX_HEAD_CHARACTERS = 128 * 1024;

/** Where the bytes of a record keep what they were made from: a field costs a fraction of a WeakMap entry. */
const FRESH = Symbol("fresh");
type FreshBuffer = Buffer & { [FRESH]?: EncodedRecord | undefined };

/**
 * The bytes of a record. A body known to be JSON goes in byte for byte. In one process the reader gets the head
 * without parsing: it is remembered with the bytes until `takeFresh`.
 */
export function encodeRecord(draft: LogDraft): Buffer {
  const { bytes, headEnd } = joined(headText(draft.head), messagePieces(draft.request), messagePieces(draft.response));
  const holder: FreshBuffer = bytes;
  holder[FRESH] = { bytes, head: draft.head, headEnd };
  return bytes;
}

/** What `encodeRecord` remembered of bytes made in this process, once; undefined for bytes from elsewhere. */
export function takeFresh(bytes: Buffer): EncodedRecord | undefined {
  const holder: FreshBuffer = bytes;
  const known = holder[FRESH];
  if (known !== undefined) holder[FRESH] = undefined;
  return known;
}

/** The same layout from a record that came as JSON. */
export function encodeParsed(head: LogHead, request: unknown, response: unknown): EncodedRecord {
  return { head, ...joined(headText(head), [JSON.stringify(request)], [JSON.stringify(response)]) };
}

/** A record whose bodies are dropped to save space. */
export function withoutBodies(bytes: Buffer, headEnd: number): Buffer {
  return joined(bytes.subarray(0, headEnd), [DROPPED], [DROPPED]).bytes;
}

const DROPPED = '{"headers":null,"body":null,"truncated":true}';

/** The JSON of a head without its closing brace. */
function headText(head: LogHead): string {
  const text = JSON.stringify(head);
  if (text.length <= MAX_HEAD_CHARACTERS) return text.slice(0, -1);
  return JSON.stringify({ ...head, metadata: {}, decision: null, hook_results: null, retries: head.retries.slice(0, 5) }).slice(0, -1);
}

type Piece = string | Buffer;

/** The pieces of a record, one after the other in one place. */
function joined(head: Piece, request: readonly Piece[], response: readonly Piece[]): { bytes: Buffer; headEnd: number } {
  const pieces = [',"request":', ...request, ',"response":', ...response, "}"];
  let most = mostBytes(head);
  for (const piece of pieces) most += mostBytes(piece);
  const place = placeFor(most);
  const headEnd = write(place, head, 0);
  let end = headEnd;
  for (const piece of pieces) end = write(place, piece, end);
  return { bytes: taken(place, end), headEnd };
}

/** Three bytes of UTF-8 are the most that a UTF-16 unit becomes. */
function mostBytes(piece: Piece): number {
  return typeof piece === "string" ? piece.length * 3 : piece.length;
}

function write(place: Buffer, piece: Piece, at: number): number {
  return at + (typeof piece === "string" ? place.write(piece, at) : piece.copy(place, at));
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
