import { type Dirent } from "node:fs";
import { readdir, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isAbandoned, type OwnFolder, removeLock } from "./owner.ts";

/**
 * Takes one folder that nobody owns any more, with the folders that its owner had taken, into the own one. Gives their
 * paths; none when there is nothing to take. Of two processes that want the same folder one gets it.
 */
export async function claimAbandoned(dir: string, own: OwnFolder, now: number, quietMs: number): Promise<string[]> {
  for (const id of await foldersIn(resolve(dir))) {
    if (id === own.id || !(await isAbandoned(dir, id, now, quietMs))) continue;
    await own.ensure();
    const path = join(own.path, id);
    if (!(await renamed(join(resolve(dir), id), path))) continue;
    await removeLock(dir, id);
    return [...(await lifted(path, own.path)), path];
  }
  return [];
}

/** Folders inside a taken one move up beside it, so that no chain of crashes nests them deeper. */
async function lifted(from: string, to: string): Promise<string[]> {
  const paths: string[] = [];
  for (const id of await foldersIn(from)) {
    const path = join(to, id);
    if (!(await renamed(join(from, id), path))) continue;
    paths.push(...(await lifted(path, to)), path);
  }
  return paths;
}

/** False when somebody else was faster. */
async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

async function foldersIn(path: string): Promise<string[]> {
  let entries: Dirent[];
  try {
    entries = await readdir(path, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}
