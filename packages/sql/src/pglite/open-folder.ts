import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { SqlEvent } from "../engine.ts";
import { SqlUnavailable } from "../fault.ts";
import { checkVersion, type DatabaseFolder, emptyImage, looksWhole } from "./folder.ts";
import { type DatabaseThread, OpenFailed, startThread, type ThreadLimits } from "./thread.ts";

/**
 * Opens the database of a folder, an empty one when there is none. One that the engine refuses is moved aside and an
 * empty one takes its place, told to `onEvent`; but only when the engine does open an empty one beside it: a full
 * disk or a lack of memory is thrown, and nothing is moved.
 */
export async function openFolder(
  folder: DatabaseFolder,
  limits: ThreadLimits,
  onEvent: (event: SqlEvent) => void,
  onLost: (cause: Error) => void,
): Promise<DatabaseThread> {
  mkdirSync(dirname(folder.data), { recursive: true, mode: 0o700 });
  const isNew = !existsSync(folder.data);
  if (!isNew) checkVersion(folder.data);
  const first =
    isNew || looksWhole(folder.data) ? await attempt(folder, isNew, limits, onLost) : new OpenFailed("files of the database are missing");
  if (!(first instanceof OpenFailed)) return first;
  await makeSpare(folder, limits, first);
  const to = freeName(folder);
  if (existsSync(folder.data)) renameSync(folder.data, to);
  renameSync(folder.spare, folder.data);
  onEvent({ kind: "moved_aside", folder: folder.data, to, cause: first });
  return startThread({ folder: folder.data, image: null }, limits, onLost);
}

async function attempt(
  folder: DatabaseFolder,
  isNew: boolean,
  limits: ThreadLimits,
  onLost: (cause: Error) => void,
): Promise<DatabaseThread | OpenFailed> {
  const image = isNew ? await emptyImage(folder) : null;
  try {
    return await startThread({ folder: folder.data, image }, limits, onLost);
  } catch (error) {
    if (error instanceof OpenFailed) return error;
    throw error;
  }
}

/** Leaves an empty database that was opened and closed in `folder.spare`. Throws the first cause when that fails. */
async function makeSpare(folder: DatabaseFolder, limits: ThreadLimits, cause: OpenFailed): Promise<void> {
  try {
    rmSync(folder.spare, { recursive: true, force: true });
    const thread = await startThread({ folder: folder.spare, image: await emptyImage(folder) }, limits, () => {});
    await thread.close();
  } catch (error) {
    const text = `the embedded database in ${folder.data} cannot be opened (${cause.message}), and neither can an empty one beside it (${String(error)}); is the disk full, or memory short? Nothing was changed`;
    throw new SqlUnavailable(text, { cause });
  }
}

function freeName(folder: DatabaseFolder): string {
  for (let at = Date.now(); ; at += 1) {
    const name = folder.broken(new Date(at));
    if (!existsSync(name)) return name;
  }
}
