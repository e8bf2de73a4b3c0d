import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type PortableStore, planAdoption } from "../portable-store.ts";
import { refuseBadRow } from "../row-json.ts";
import { createRowState } from "../row-state.ts";
import { type SavedChange, SavedUnavailable } from "../types.ts";
import { type Contents, createContents } from "./contents.ts";
import { type JournalFile, openJournalFile, realDisk } from "./journal-file.ts";
import { textOfLine, textsOf } from "./line.ts";
import { type JournalDeps, prepareJournal } from "./prepare-journal.ts";

/** Name of the journal in the data folder. */
export const JOURNAL_NAME = "control.journal";
/** Writes that wait for the disk; more are refused. */
const MOST_WAITING = 1_000;
/** Writes that share one sync of the disk. */
const MOST_TOGETHER = 256;
/** Changes that `changesAfter` gives at once. */
const PAGE = 1_000;
/** Bytes appended until the file is made as short as it can be, while it runs. */
const GROWTH = 64 * 1_024 * 1_024;

interface Waiting {
  readonly changes: readonly SavedChange[];
  readonly resolve: (seq: number) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Saved things in `control.journal` of the data folder, which this process owns: every write is a line that is on the
 * disk before the write resolves; writes that come together share one sync. Everything is in memory too. Throws
 * SavedStoreError when the file cannot be used as it is.
 */
export async function openJournalStore(deps: JournalDeps & { readonly folder: string }): Promise<PortableStore> {
  const { masterKey, log, growth = GROWTH } = deps;
  const path = join(deps.folder, JOURNAL_NAME);
  let contents = await prepareJournal(path, deps);
  const file = await openJournalFile(path, (await stat(path)).size, deps.disk ?? realDisk);
  const waiting: Waiting[] = [];
  /** One at a time: commits, and what reads between them. */
  let turn: Promise<unknown> = Promise.resolve();
  let closed = false;

  function inTurn<T>(run: () => Promise<T> | T): Promise<T> {
    const mine = turn.then(run);
    turn = mine.catch(() => {});
    return mine;
  }

  async function commitWaiting(): Promise<void> {
    const batch = waiting.splice(0, MOST_TOGETHER);
    if (batch.length > 0) await commit(batch, contents, file);
    if (file.appended() > growth) await shorten();
  }

  async function shorten(): Promise<void> {
    try {
      await file.replace(textsOf(contents.lines(masterKey.fingerprint)));
    } catch (reason) {
      log.warn({ file: path, error: String(reason) }, "the journal of saved things could not be made shorter; it goes on growing");
    }
  }

  return {
    load: () => inTurn(() => ({ rows: [...contents.state.rows()], seq: contents.seq() })),
    async write(changes) {
      for (const change of changes) if ("put" in change) refuseBadRow(change.put);
      if (closed) throw new SavedUnavailable("the store of saved things is closed");
      if (waiting.length >= MOST_WAITING) throw new SavedUnavailable("too many changes wait for the disk");
      return new Promise((resolve, reject) => {
        waiting.push({ changes, resolve, reject });
        void inTurn(commitWaiting);
      });
    },
    changesAfter: (seq) =>
      inTurn(() =>
        contents
          .changedAfter(seq)
          .slice(0, PAGE)
          .map((change) => ({ ...change, row: contents.state.get(change.kind, change.id) ?? null })),
      ),
    versions: (kind, id) => inTurn(() => (kind === "config" ? contents.versions(id) : [])),
    everything: () => inTurn(() => ({ masterKey: masterKey.fingerprint, rows: [...contents.state.rows()], former: contents.former() })),
    adopt: (everything) =>
      inTurn(async () => {
        const { rows, former, conflicts } = planAdoption(everything, createRowState(contents.state.rows()));
        if (conflicts.length > 0 || rows.length === 0) return { added: 0, conflicts };
        const next = createContents();
        for (const line of contents.lines("")) next.replay(line);
        for (const row of former) next.replay({ kind: "former", row });
        next.replay({ kind: "write", seq: contents.seq() + rows.length, changes: rows.map((put) => ({ put })) });
        await file.replace(textsOf(next.lines(masterKey.fingerprint)));
        contents = next;
        return { added: rows.length, conflicts };
      }),
    async close() {
      closed = true;
      await inTurn(() => file.close());
    },
  };
}

/** Makes the writes that can be made, on the disk at once, and answers all. */
async function commit(batch: readonly Waiting[], contents: Contents, file: JournalFile): Promise<void> {
  const made: { readonly write: Waiting; readonly seq: number; readonly takeBack: () => void }[] = [];
  let seq = contents.seq();
  let text = "";
  for (const write of batch) {
    try {
      const takeBack = contents.attempt(write.changes);
      seq += write.changes.length;
      text += textOfLine({ kind: "write", seq, changes: write.changes });
      made.push({ write, seq, takeBack });
    } catch (reason) {
      write.reject(reason);
    }
  }
  if (made.length === 0) return;
  try {
    await file.append(text);
  } catch (reason) {
    for (const { takeBack } of made.toReversed()) takeBack();
    const why = reason instanceof Error ? reason.message : String(reason);
    for (const { write } of made)
      write.reject(new SavedUnavailable(`the change could not be written to the disk: ${why}`, { cause: reason }));
    return;
  }
  for (const { write, seq: at } of made) {
    contents.settle(write.changes, at);
    write.resolve(at);
  }
}
