import { FRAME_HEADER, type FrameKind, sealFrame } from "./frame.ts";
import { SEGMENT_HEADER, writeSegmentHeader } from "./segment.ts";

/** Frames in one piece of memory that is used again for every write. */
export interface FrameBuffer {
  /** Bytes from the start that are in use. */
  readonly length: number;
  readonly bytes: Buffer;
  clear(): void;
  addSegmentHeader(createdAt: number): void;
  add(kind: FrameKind, request: number, payload: Buffer | string | null): void;
}

const FIRST_SIZE = 256 * 1024;
/** A buffer that grew beyond this is given back. */
const KEPT_SIZE = 2 * 1024 * 1024;

export function createFrameBuffer(): FrameBuffer {
  let bytes = Buffer.allocUnsafe(FIRST_SIZE);
  let length = 0;

  function reserve(more: number): void {
    if (length + more <= bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(length + more, bytes.length * 2));
    bytes.copy(larger, 0, 0, length);
    bytes = larger;
  }

  return {
    get length() {
      return length;
    },
    get bytes() {
      return bytes;
    },
    clear() {
      length = 0;
      if (bytes.length > KEPT_SIZE) bytes = Buffer.allocUnsafe(FIRST_SIZE);
    },
    addSegmentHeader(createdAt) {
      reserve(SEGMENT_HEADER);
      writeSegmentHeader(bytes, length, createdAt);
      length += SEGMENT_HEADER;
    },
    add(kind, request, payload) {
      if (payload === null) {
        reserve(FRAME_HEADER);
        length = sealFrame(bytes, length, kind, request, 0);
      } else if (typeof payload === "string") {
        // Three bytes of UTF-8 are the most that a UTF-16 unit becomes.
        reserve(FRAME_HEADER + payload.length * 3);
        length = sealFrame(bytes, length, kind, request, bytes.write(payload, length + FRAME_HEADER));
      } else {
        reserve(FRAME_HEADER + payload.length);
        payload.copy(bytes, length + FRAME_HEADER);
        length = sealFrame(bytes, length, kind, request, payload.length);
      }
    },
  };
}
