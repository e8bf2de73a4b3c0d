import { readdir, unlink } from "node:fs/promises";
import { join } from "node:path";

// A segment: 16 bytes (magic, Unix ms at which it was made), then frames. First the requests that were open when it
// was made, then READY, then what happened. So the last segment alone tells which requests never ended, whatever
// became of the others.

/** A file of one folder. Files are numbered in the order they were made and never appended to by another process. */
export interface Segment {
  readonly number: number;
  readonly path: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** Bytes on disk. */
  bytes: number;
  /** It may still grow, or is needed for more than its records: not to be deleted. */
  kept: boolean;
  /** Spans of it that are not delivered. */
  spans: number;
}

export const SEGMENT_HEADER = 16;
const MAGIC = Buffer.from("UGSPOOL1", "latin1");
const NAME = /^(\d{8,15})\.segment$/;

export function segmentPath(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(8, "0")}.segment`);
}

/** Numbers of the segments in a folder, oldest first. */
export async function segmentNumbers(folder: string): Promise<number[]> {
  const names = await readdir(folder);
  const numbers = names.flatMap((name) => {
    const digits = NAME.exec(name)?.[1];
    return digits === undefined ? [] : [Number(digits)];
  });
  return numbers.sort((left, right) => left - right);
}

export function writeSegmentHeader(buffer: Buffer, at: number, createdAt: number): void {
  MAGIC.copy(buffer, at);
  buffer.writeDoubleLE(createdAt, at + MAGIC.length);
}

/** When a segment was made, Unix ms; null when these are not the first bytes of one. */
export function readSegmentHeader(bytes: Buffer): number | null {
  if (bytes.length < SEGMENT_HEADER || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return null;
  const createdAt = bytes.readDoubleLE(MAGIC.length);
  return Number.isFinite(createdAt) ? createdAt : null;
}

/** Deletes the file of a segment that is needed no more. One that cannot be deleted is delivered again some day. */
export function deleteSegment({ path }: Segment): void {
  void unlink(path).catch(() => undefined);
}
