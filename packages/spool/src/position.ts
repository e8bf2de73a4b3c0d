import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Up to where a folder is delivered. */
export interface Position {
  readonly segment: number;
  /** Offset in the segment. */
  readonly offset: number;
}

/** Remembers the position in a file, now and then: a restart sends again what was delivered since. */
export interface PositionKeeper {
  note(position: Position): void;
  /** Writes what was noted last. */
  close(): Promise<void>;
}

const FILE = "position";
const EVERY_MS = 250;

/** A file that cannot be written is no fault: more is sent again. */
export function keepPosition(folder: string): PositionKeeper {
  let noted: Position | null = null;
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();

  function write(): void {
    timer = null;
    if (noted === null) return;
    const text = JSON.stringify(noted);
    noted = null;
    writing = writing.then(() => replaceFile(join(folder, FILE), text)).catch(() => undefined);
  }

  return {
    note(position) {
      noted = position;
      timer ??= setTimeout(write, EVERY_MS).unref();
    },
    async close() {
      if (timer !== null) clearTimeout(timer);
      write();
      await writing;
    },
  };
}

/** The beginning when nothing is known. */
export async function readPosition(folder: string): Promise<Position> {
  try {
    const read = JSON.parse(await readFile(join(folder, FILE), "utf8")) as Partial<Position> | null;
    const { segment, offset } = read ?? {};
    if (Number.isSafeInteger(segment) && Number.isSafeInteger(offset)) return { segment: segment ?? 0, offset: offset ?? 0 };
  } catch {
    // Absent, or cut by a crash of the machine.
  }
  return { segment: 0, offset: 0 };
}

async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
