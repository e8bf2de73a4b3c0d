import { write } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { type Segment, segmentPath } from "./segment.ts";

/** The one segment that is being written. */
export interface SegmentFile {
  readonly segment: Segment;
  /** Hands the first `length` bytes to the kernel, all or (after an error) none of them. */
  append(bytes: Buffer, length: number): Promise<void>;
  /** Until what was appended survives a crash of the machine. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Makes a new segment; it must not exist. Throws what the file system says. */
export async function createSegmentFile(folder: string, number: number, createdAt: number): Promise<SegmentFile> {
  const path = segmentPath(folder, number);
  const handle = await open(path, "wx", 0o600);
  const segment: Segment = { number, path, createdAt, bytes: 0, kept: true, spans: 0 };
  let isEntrySynced = false;

  return {
    segment,
    async append(bytes, length) {
      try {
        await writeAll(handle, bytes, length, segment.bytes);
        segment.bytes += length;
      } catch (error) {
        // Gives back what a full disk took of it; a reader would cut it off as well.
        await handle.truncate(segment.bytes).catch(() => undefined);
        throw error;
      }
    },
    async sync() {
      await handle.datasync();
      if (isEntrySynced) return;
      await syncFolder(dirname(path));
      isEntrySynced = true;
    },
    async close() {
      await handle.close();
      if (segment.bytes === 0) await unlink(path).catch(() => undefined);
    },
  };
}

async function writeAll(handle: FileHandle, bytes: Buffer, length: number, position: number): Promise<void> {
  for (let done = 0; done < length; ) {
    const written = await writeSome(handle, bytes, done, length - done, position + done);
    if (written === 0) throw Object.assign(new Error("the file system took no bytes"), { code: "EIO" });
    done += written;
  }
}

/** The callback form: it costs half of what the handle's own write does. */
function writeSome(handle: FileHandle, bytes: Buffer, offset: number, length: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(handle.fd, bytes, offset, length, position, (error, written) => (error === null ? resolve(written) : reject(error)));
  });
}

/** A new file survives a crash of the machine only when its folder does. Some systems cannot sync a folder. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // The data itself is safe; there is nothing better to do.
  }
}
