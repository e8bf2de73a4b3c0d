import { type FileHandle, mkdir, open, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";

export interface RecordFileLimits {
  /** A file is followed by the next one when it is larger, bytes. Default 4 MiB. */
  readonly fileBytes: number;
  /** Of more than these the oldest goes. Default 16. */
  readonly files: number;
}

const FILE_LIMITS: RecordFileLimits = { fileBytes: 4 * 1024 * 1024, files: 16 };

/** Lines in numbered files of a folder, the oldest dropped by files. One writer. */
export interface RecordFiles {
  /** Every whole line of the files that are there, oldest first. Before the first append. */
  read(take: (line: Buffer) => void): Promise<void>;
  /** Handed to the kernel when it resolves: a crash of the process loses nothing of it, one of the machine may. */
  append(lines: readonly Buffer[]): Promise<void>;
  close(): Promise<void>;
}

const NAME = /^(\d{8})\.ndjson$/;
const NEWLINE = 0x0a;

/** Makes the folder when it is missing. Rejects with what the file system says. */
export async function openRecordFiles(folder: string, limits: RecordFileLimits = FILE_LIMITS): Promise<RecordFiles> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const numbers = (await readdir(folder)).flatMap((name) => NAME.exec(name)?.[1] ?? []).map(Number);
  numbers.sort((one, other) => one - other);
  let current: { readonly handle: FileHandle; bytes: number } | null = null;
  const joined = createLineBuffer();
  const pathOf = (number: number): string => join(folder, `${String(number).padStart(8, "0")}.ndjson`);

  /** Always a new file: what a killed process wrote last may end in the middle of a line. */
  async function next(): Promise<{ readonly handle: FileHandle; bytes: number }> {
    await current?.handle.close();
    current = null;
    const number = (numbers.at(-1) ?? 0) + 1;
    current = { handle: await open(pathOf(number), "ax", 0o600), bytes: 0 };
    numbers.push(number);
    return current;
  }

  /** Only once there is something newer: a disk that is full must not cost the records it holds. */
  async function dropOldest(): Promise<void> {
    for (const old of numbers.splice(0, Math.max(0, numbers.length - limits.files))) await unlink(pathOf(old));
  }

  /** A line that is half there goes; where that fails too, the next append begins a new file. */
  async function giveBack(file: { readonly handle: FileHandle; bytes: number }): Promise<void> {
    await file.handle.truncate(file.bytes).catch(() => {
      file.bytes = Number.POSITIVE_INFINITY;
    });
  }

  return {
    async read(take) {
      for (const number of numbers) {
        const bytes = await readFile(pathOf(number));
        for (let from = 0, to = bytes.indexOf(NEWLINE); to >= 0; from = to + 1, to = bytes.indexOf(NEWLINE, from))
          take(bytes.subarray(from, to));
      }
    },
    async append(lines) {
      const file = current === null || current.bytes > limits.fileBytes ? await next() : current;
      const bytes = joined(lines);
      try {
        await file.handle.writeFile(bytes);
        file.bytes += bytes.length;
      } catch (error) {
        await giveBack(file);
        throw error;
      }
      await dropOldest();
    },
    async close() {
      await current?.handle.close();
      current = null;
    },
  };
}

/** A write of no more than this goes through memory that is used again: new memory for each is work for the collector. */
const WRITE_BYTES = 256 * 1024;

/** Lines end to end, each with its line end, in one piece of memory that the next call may use again. */
function createLineBuffer(): (lines: readonly Buffer[]) => Buffer {
  const kept = Buffer.allocUnsafeSlow(WRITE_BYTES);
  return (lines) => {
    const size = lines.reduce((sum, line) => sum + line.length + 1, 0);
    const bytes = size <= WRITE_BYTES ? kept : Buffer.allocUnsafeSlow(size);
    let end = 0;
    for (const line of lines) {
      const start = end;
      end += line.copy(bytes, start);
      // In JSON a bare newline is white space between words.
      if (line.includes(NEWLINE))
        bytes.subarray(start, end).forEach((byte, at, copy) => {
          if (byte === NEWLINE) copy[at] = 0x20;
        });
      bytes[end++] = NEWLINE;
    }
    return bytes.subarray(0, end);
  };
}
