import { mkdir, open, readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Clock } from "@unigate/core";
import type { Logger } from "@unigate/runtime";
import { checkMasterKey, type MasterKeyMark, SavedStoreError } from "../store-error.ts";
import { type Contents, createContents } from "./contents.ts";
import { type Disk, realDisk } from "./journal-file.ts";
import { textsOf } from "./line.ts";
import { moveAside } from "./move-aside.ts";
import { type JournalRead, readJournal } from "./read-journal.ts";

export interface JournalDeps {
  readonly masterKey: MasterKeyMark;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
  /** Default the real one. */
  readonly disk?: Disk;
  /** Bytes appended until the file is made shorter while it runs. Default 64 MiB. */
  readonly growth?: number;
}

/** How many numbers of damaged lines a log message names. */
const TOLD = 20;

/**
 * What the journal says, and the journal itself made whole and as short as it can be. A damaged one stays beside it as
 * `<journal>.broken-<time>`, and the log says what is lost. Throws SavedStoreError when it cannot be used.
 */
export async function prepareJournal(file: string, deps: JournalDeps): Promise<Contents> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await removeDrafts(file);
    const read = await readJournal(file);
    if (read === null) return await rewritten(file, createContents(), deps);
    if (read.masterKey !== null) checkMasterKey(read.masterKey, deps.masterKey, file);
    if (read.damaged.length > 0) {
      await keepDamaged(file, read, deps);
      return await rewritten(file, read.contents, deps);
    }
    if (read.tornBytes > 0) await cutTorn(file, read, deps);
    if (read.grown) await shorten(file, read.contents, deps);
    return read.contents;
  } catch (reason) {
    if (reason instanceof SavedStoreError) throw reason;
    const why = reason instanceof Error ? reason.message : String(reason);
    throw new SavedStoreError(`the journal of saved things cannot be opened: ${why}; expected a folder that this user may write to`, {
      cause: reason,
    });
  }
}

async function keepDamaged(file: string, { damaged, lost, contents }: JournalRead, { clock, log }: JournalDeps): Promise<void> {
  const movedTo = await moveAside(file, clock.now());
  log.error(
    {
      file,
      movedTo,
      damagedLines: damaged.slice(0, TOLD),
      damaged: damaged.length,
      lostChanges: lost,
      kept: [...contents.state.rows()].length,
    },
    "the journal of saved things is damaged: what its damaged lines said is lost, removals too (a key that was revoked may be back); all other lines are kept, and the damaged file beside them",
  );
}

/** Works on a full disk as well. */
async function cutTorn(file: string, { wholeBytes, tornBytes }: JournalRead, { log }: JournalDeps): Promise<void> {
  const text = "the last line of the journal was not finished, and nobody was told that it was: it is cut";
  log.warn({ file, bytes: tornBytes }, text);
  const handle = await open(file, "r+");
  try {
    await handle.truncate(wholeBytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function shorten(file: string, contents: Contents, deps: JournalDeps): Promise<void> {
  try {
    await rewritten(file, contents, deps);
  } catch (reason) {
    deps.log.warn({ file, error: String(reason) }, "the journal of saved things could not be made shorter; it is used as it is");
  }
}

async function rewritten(file: string, contents: Contents, { masterKey, disk = realDisk }: JournalDeps): Promise<Contents> {
  await disk.replace(file, textsOf(contents.lines(masterKey.fingerprint)));
  return contents;
}

/** What a process left that was killed while it rewrote the journal. */
async function removeDrafts(file: string): Promise<void> {
  const draft = new RegExp(`^${basename(file).replaceAll(".", "\\.")}\\.\\d+\\.[0-9a-f]{8}$`);
  for (const name of await readdir(dirname(file))) if (draft.test(name)) await rm(join(dirname(file), name), { force: true });
}
