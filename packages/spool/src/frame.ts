import { crc32 } from "node:zlib";

// A frame: length of the payload (u32), CRC-32 of all that follows (u32), kind (u8), three zeros, number of the
// request it belongs to (u32, 0 = none), payload. Little-endian.

/** Bytes of a frame before its payload. */
export const FRAME_HEADER = 16;
/** Longest payload; a longer one is taken for damage. A record is at most about 1.2 MiB. */
export const MAX_PAYLOAD = 8 * 1024 * 1024;

/** A request was admitted; the payload says which. */
export const STARTED = 1;
/** A log record. */
export const RECORD = 2;
/** A log record, the last one of its request. */
export const LAST_RECORD = 3;
/** A request ended without a further record; no payload. */
export const ENDED = 4;
/** What was started above, in this segment, is all that was open when the segment began; no payload. */
export const READY = 5;

export type FrameKind = typeof STARTED | typeof RECORD | typeof LAST_RECORD | typeof ENDED | typeof READY;

export interface Frame {
  readonly kind: FrameKind;
  /** Number of the request; 0 = none. */
  readonly request: number;
  /** A view of the bytes read. */
  readonly payload: Buffer;
  /** Where it begins and ends in the bytes read. */
  readonly start: number;
  readonly end: number;
}

/** Writes the header of a frame whose payload of `length` bytes stands at `at + FRAME_HEADER` already. Gives the frame's end. */
export function sealFrame(buffer: Buffer, at: number, kind: FrameKind, request: number, length: number): number {
  const end = at + FRAME_HEADER + length;
  buffer.writeUInt32LE(length, at);
  buffer.writeUInt32LE(kind, at + 8);
  buffer.writeUInt32LE(request, at + 12);
  buffer.writeUInt32LE(crc32(buffer.subarray(at + 8, end)), at + 4);
  return end;
}

/** The frame at `at`; how many bytes it needs when the buffer ends before it does; or that it is damaged. */
export function readFrame(buffer: Buffer, at: number): Frame | { readonly needs: number } | "damaged" {
  if (at + FRAME_HEADER > buffer.length) return { needs: FRAME_HEADER };
  const length = buffer.readUInt32LE(at);
  const kind = buffer.readUInt32LE(at + 8);
  if (length > MAX_PAYLOAD || !isKind(kind)) return "damaged";
  const end = at + FRAME_HEADER + length;
  if (end > buffer.length) return { needs: FRAME_HEADER + length };
  if (crc32(buffer.subarray(at + 8, end)) !== buffer.readUInt32LE(at + 4)) return "damaged";
  return { kind, request: buffer.readUInt32LE(at + 12), payload: buffer.subarray(at + FRAME_HEADER, end), start: at, end };
}

function isKind(value: number): value is FrameKind {
  return value >= STARTED && value <= READY;
}
