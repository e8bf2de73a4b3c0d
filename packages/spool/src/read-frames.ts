import type { FileHandle } from "node:fs/promises";
import { type Frame, readFrame } from "./frame.ts";

/** Some frames of a file that follow each other. */
export interface FrameChunk {
  readonly frames: readonly Frame[];
  /** Offset of the first of them. */
  readonly from: number;
  /** Offset of the frame after them. */
  readonly next: number;
  /** The bytes at `next` are no whole frame: nothing after them can be trusted. */
  readonly damaged: boolean;
}

/** Whole frames between two offsets of a file, about `bytes` of them, at least one. `to` is where they must end. */
export async function readFrames(handle: FileHandle, from: number, to: number, bytes: number): Promise<FrameChunk> {
  let buffer = await readAt(handle, from, Math.min(bytes, to - from));
  const first = readFrame(buffer, 0);
  if (typeof first === "object" && "needs" in first) {
    if (from + first.needs > to) return { frames: [], from, next: from, damaged: true };
    buffer = await readAt(handle, from, Math.min(to - from, Math.max(first.needs, bytes)));
    const again = readFrame(buffer, 0);
    // The first read saw only the length when it was cut inside the header.
    if (typeof again === "object" && "needs" in again && from + again.needs <= to) buffer = await readAt(handle, from, again.needs);
  }
  const frames: Frame[] = [];
  for (let at = 0; ; ) {
    if (at === buffer.length) return { frames, from, next: from + at, damaged: frames.length === 0 };
    const frame = readFrame(buffer, at);
    if (frame === "damaged") return { frames, from, next: from + at, damaged: true };
    if ("needs" in frame) return { frames, from, next: from + at, damaged: frames.length === 0 || from + at + frame.needs > to };
    frames.push(frame);
    at = frame.end;
  }
}

/** Fewer bytes than asked for when the file ends before. */
async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done === length ? buffer : buffer.subarray(0, done);
}
