import { type FileHandle, open } from "node:fs/promises";
import { LAST_RECORD, RECORD } from "./frame.ts";
import { type FrameChunk, readFrames } from "./read-frames.ts";
import type { Segment } from "./segment.ts";
import type { Span } from "./span.ts";

/** Records read from a span on disk. */
export interface SpanPart {
  readonly records: readonly Buffer[];
  /** Offset after the last of them. */
  readonly next: number;
  /** What follows cannot be read. */
  readonly damaged: boolean;
}

/** Reads spans from disk; keeps the last segment open. */
export interface SpanReader {
  /** Throws what the file system says. */
  read(span: Span, segment: Segment): Promise<SpanPart>;
  close(): Promise<void>;
}

export function createSpanReader(mostRecords: number, bytes: number): SpanReader {
  let handle: FileHandle | null = null;
  let openPath = "";

  async function close(): Promise<void> {
    const old = handle;
    handle = null;
    openPath = "";
    await old?.close();
  }

  return {
    async read(span, segment) {
      if (openPath !== segment.path) {
        await close();
        handle = await open(segment.path, "r");
        openPath = segment.path;
      }
      if (handle === null) return { records: [], next: span.start, damaged: true };
      return recordsOf(await readFrames(handle, span.start, span.end, bytes), mostRecords);
    },
    close,
  };
}

function recordsOf(chunk: FrameChunk, most: number): SpanPart {
  const records: Buffer[] = [];
  for (const { kind, payload, start } of chunk.frames) {
    if (kind !== RECORD && kind !== LAST_RECORD) continue;
    if (records.length === most) return { records, next: chunk.from + start, damaged: false };
    records.push(payload);
  }
  return { records, next: chunk.next, damaged: chunk.damaged };
}
