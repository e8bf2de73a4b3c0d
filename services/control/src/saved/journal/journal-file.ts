import { type FileHandle, open } from "node:fs/promises";
import { writeAtomic } from "../../write-atomic.ts";

/** What appending needs of an open file. */
export type AppendHandle = Pick<FileHandle, "writeFile" | "datasync" | "truncate" | "close">;

/** What a journal needs of the disk. */
export interface Disk {
  openForAppend(file: string): Promise<AppendHandle>;
  /** Replaces a file, whole or not at all. */
  replace(file: string, pieces: Iterable<string>): Promise<void>;
}

export const realDisk: Disk = { openForAppend: (file) => open(file, "a", 0o600), replace: writeAtomic };

/** A file that grows by whole lines. */
export interface JournalFile {
  /** Bytes appended since it was made or replaced. */
  appended(): number;
  /** Resolves when the text is on the disk. When it rejects, nothing of it is kept: what was written of it is cut. */
  append(text: string): Promise<void>;
  /** Puts another file in its place, whole or not at all. */
  replace(lines: Iterable<string>): Promise<void>;
  close(): Promise<void>;
}

/** Opens the journal that is there, `size` bytes of whole lines. */
export async function openJournalFile(file: string, size: number, disk: Disk): Promise<JournalFile> {
  let handle = await disk.openForAppend(file);
  /** Up to here all is whole and durable. */
  let good = size;
  let appended = 0;
  /** Something may stand behind `good`. */
  let suspect = false;

  async function cut(): Promise<void> {
    await handle.truncate(good);
    await handle.datasync();
    suspect = false;
  }

  return {
    appended: () => appended,
    async append(text) {
      const bytes = Buffer.from(text);
      if (suspect) await cut();
      try {
        suspect = true;
        await handle.writeFile(bytes);
        await handle.datasync();
        suspect = false;
      } catch (reason) {
        // Should this fail as well, it is done before the next append.
        await cut().catch(() => {});
        throw reason;
      }
      good += bytes.length;
      appended += bytes.length;
    },
    async replace(lines) {
      let bytes = 0;
      await disk.replace(
        file,
        counted(lines, (more) => (bytes += more)),
      );
      const next = await disk.openForAppend(file);
      await handle.close();
      handle = next;
      [good, appended, suspect] = [bytes, 0, false];
    },
    close: () => handle.close(),
  };
}

/** Lines in pieces that are worth a system call. */
const PIECE = 256 * 1_024;

function* counted(lines: Iterable<string>, count: (bytes: number) => void): Generator<string> {
  let piece = "";
  for (const line of lines) {
    piece += line;
    if (piece.length < PIECE) continue;
    count(Buffer.byteLength(piece));
    yield piece;
    piece = "";
  }
  count(Buffer.byteLength(piece));
  yield piece;
}
