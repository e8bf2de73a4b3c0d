import { join } from "node:path";
import type { SqlEngine } from "@unigate/sql";
import { JOURNAL_NAME } from "./journal/journal-store.ts";
import { JOURNAL_FORMAT, linesOf, readLine, textOfLine } from "./journal/line.ts";
import { readJournal } from "./journal/read-journal.ts";
import { openSavedStore, type SavedPlace } from "./open-saved.ts";
import type { SavedEverything } from "./portable-store.ts";
import { checkMasterKey, SavedStoreError } from "./store-error.ts";
import type { SavedRow } from "./types.ts";

/** A line of a file that cannot be imported, from 1. */
export interface ImportProblem {
  readonly line: number;
  readonly message: string;
}

/**
 * Everything saved, as lines of NDJSON in an order of their own, so that equal stores give equal text. Secrets stay
 * sealed. A journal is only read, also while a gateway writes to it. Throws SavedStoreError when there is nothing, or
 * a part of it cannot be read.
 */
export async function exportSaved(place: { readonly dataDir: string; readonly database: SqlEngine | null }): Promise<string> {
  const { masterKey, rows, former } = await everythingIn(place);
  const lines = [
    textOfLine({ kind: "header", format: JOURNAL_FORMAT, masterKey, seq: 0 }),
    ...former.toSorted(inOrder).map((row) => textOfLine({ kind: "former", row })),
    ...rows.toSorted(inOrder).map((row) => textOfLine({ kind: "row", row })),
  ];
  return lines.join("");
}

/**
 * Takes over what `exportSaved` wrote: all of it, or nothing when there is a problem with any line. Things that stand
 * in the store just so are left alone. Throws SavedStoreError when the secrets are sealed under another master key.
 */
export async function importSaved(
  file: { readonly name: string; readonly bytes: Buffer },
  place: SavedPlace,
): Promise<{ readonly added: number; readonly problems: readonly ImportProblem[] }> {
  const { masterKey, rows, former, lineOfRow, problems } = readExport(file.bytes);
  if (problems.length > 0) return { added: 0, problems };
  // Before the store is opened: the first who opens one says which master key it is for.
  checkMasterKey(masterKey, place.masterKey, file.name);
  const store = await openSavedStore(place);
  try {
    const { added, conflicts } = await store.adopt({ rows, former });
    return { added, problems: conflicts.map(({ index, message }) => ({ line: lineOfRow[index] ?? 0, message })) };
  } finally {
    await store.close();
  }
}

async function everythingIn({ dataDir, database }: Parameters<typeof exportSaved>[0]): Promise<SavedEverything> {
  if (database !== null) {
    const { openSqlStore } = await import("./sql/sql-store.ts");
    const everything = await (await openSqlStore(database, null)).everything();
    if (everything.masterKey === "") throw new SavedStoreError("nothing was ever saved in the database (UNIGATE_DATABASE_URL)");
    return everything;
  }
  const file = join(dataDir, JOURNAL_NAME);
  const read = await readJournal(file);
  if (read === null) throw new SavedStoreError(`there is no ${file}: UNIGATE_DATA_DIR names the folder, UNIGATE_DATABASE_URL a database`);
  if (read.masterKey === null || read.damaged.length > 0)
    throw new SavedStoreError(
      `lines ${read.damaged.join(", ")} of ${file} are damaged: start the gateway once, which keeps what can be read and says what is lost`,
    );
  return { masterKey: read.masterKey, rows: [...read.contents.state.rows()], former: read.contents.former() };
}

function readExport(bytes: Buffer): {
  readonly masterKey: string;
  readonly rows: readonly SavedRow[];
  readonly former: readonly SavedRow[];
  readonly lineOfRow: readonly number[];
  readonly problems: readonly ImportProblem[];
} {
  const rows: SavedRow[] = [];
  const former: SavedRow[] = [];
  const lineOfRow: number[] = [];
  const problems: ImportProblem[] = [];
  let masterKey = "";
  let number = 0;
  for (const { start, end } of linesOf(bytes)) {
    number += 1;
    const line = readLine(bytes.subarray(start, end));
    if (line === null) problems.push({ line: number, message: "was changed after it was exported, or is no line of an export" });
    else if ((line.kind === "header") !== (number === 1))
      problems.push({ line: number, message: number === 1 ? "expected the first line of an export" : "expected a row" });
    else if (line.kind === "write") problems.push({ line: number, message: "is of a journal; expected what --export writes" });
    else if (line.kind === "former") former.push(line.row);
    else if (line.kind === "row") {
      rows.push(line.row);
      lineOfRow.push(number);
    } else if (line.format > JOURNAL_FORMAT)
      problems.push({ line: number, message: `has format ${line.format}, newer than ${JOURNAL_FORMAT} of this program` });
    else masterKey = line.masterKey;
  }
  if (number === 0) problems.push({ line: 1, message: "expected the first line of an export; the file is empty" });
  return { masterKey, rows, former, lineOfRow, problems };
}

function inOrder(left: SavedRow, right: SavedRow): number {
  return compare(left.kind, right.kind) || compare(left.id, right.id) || left.version - right.version;
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
