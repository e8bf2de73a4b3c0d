import { readFile } from "node:fs/promises";
import { SavedStoreError } from "../store-error.ts";
import { type Contents, createContents } from "./contents.ts";
import { JOURNAL_FORMAT, linesOf, readLine } from "./line.ts";

/** What a journal file says, and what of it could not be read. */
export interface JournalRead {
  readonly contents: Contents;
  /** Of the header; null when the header is lost. */
  readonly masterKey: string | null;
  /** Numbers, from 1, of lines in the middle that were changed by something else. */
  readonly damaged: readonly number[];
  /** First and last number of changes that are known to be missing. */
  readonly lost: readonly (readonly [number, number])[];
  /** Bytes of whole lines. */
  readonly wholeBytes: number;
  /** Bytes of a last line that was never finished: its write was never confirmed to anybody. */
  readonly tornBytes: number;
  /** Whether it says more than it has to. */
  readonly grown: boolean;
}

/**
 * Reads a journal; null when there is none. Every line that can be read is kept. Throws SavedStoreError when it is not
 * a journal at all, or one of a newer program.
 */
export async function readJournal(file: string): Promise<JournalRead | null> {
  const bytes = await bytesOf(file);
  if (bytes === null) return null;
  const contents = createContents();
  const damaged: number[] = [];
  const lost: [number, number][] = [];
  let masterKey: string | null = null;
  let [number, read, tornBytes] = [0, 0, 0];
  let grown = false;
  for (const { start, end, ended } of linesOf(bytes)) {
    number += 1;
    if (!ended) {
      tornBytes = end - start;
      break;
    }
    const line = readLine(bytes.subarray(start, end));
    if (line === null) {
      damaged.push(number);
      continue;
    }
    read += 1;
    if (line.kind === "header") {
      refuseNewer(line.format, file);
      masterKey = line.masterKey;
    } else if (line.kind === "write") {
      grown = true;
      const first = line.seq - line.changes.length + 1;
      if (first > contents.seq() + 1) lost.push([contents.seq() + 1, first - 1]);
    }
    contents.replay(line);
  }
  if (read === 0)
    throw new SavedStoreError(
      `no line of ${file} is one of a journal of saved things: restore it from a backup, or move it away to start with nothing saved`,
    );
  // A header is damaged when it is there, and missing when the file lost its beginning.
  if (masterKey === null && damaged.length === 0) damaged.push(1);
  return { contents, masterKey, damaged, lost, wholeBytes: bytes.length - tornBytes, tornBytes, grown };
}

function refuseNewer(format: number, file: string): void {
  if (format <= JOURNAL_FORMAT) return;
  throw new SavedStoreError(
    `${file} has format ${format}, newer than ${JOURNAL_FORMAT} of this program: start the newer program, or give this one a folder of its own (UNIGATE_DATA_DIR)`,
  );
}

async function bytesOf(file: string): Promise<Buffer | null> {
  try {
    return await readFile(file);
  } catch (reason) {
    if (reason instanceof Error && "code" in reason && reason.code === "ENOENT") return null;
    const why = reason instanceof Error ? reason.message : String(reason);
    throw new SavedStoreError(`${file} cannot be read: ${why}; expected a file that this user may read and write`, { cause: reason });
  }
}
