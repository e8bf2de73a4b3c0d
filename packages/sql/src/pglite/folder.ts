import { fork } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { builtFile } from "../built-file.ts";
import { SqlUnavailable } from "../fault.ts";
import { SchemaError } from "../migrate.ts";

/** Major version of the PostgreSQL in this PGlite. A folder of another one is not damaged, it is another format. */
const MAJOR = "17";
const MAKE_IMAGE_MS = 120_000;
/** Beside the build, so that it is made once for an installation; `node packages/sql/dist/pglite/make-image.js` makes it ahead. */
export const BUILT_IMAGE = builtFile(`empty-database-${MAJOR}.image`);

/** Where the parts of one embedded database are. */
export interface DatabaseFolder {
  /** The database itself. */
  readonly data: string;
  /** An empty one that is tried out before it may take the place of a broken one. */
  readonly spare: string;
  /** Where a database goes that cannot be used. */
  broken(now: Date): string;
}

export function databaseFolder(dataDir: string): DatabaseFolder {
  return {
    data: join(dataDir, "pglite"),
    spare: join(dataDir, "pglite.spare"),
    broken: (now) => join(dataDir, `broken-${now.toISOString().replace(/[:.]/g, "-")}`),
  };
}

/** Whether there is an embedded database in a folder, sound or not. */
export function hasEmbeddedDatabase(dataDir: string): boolean {
  return existsSync(databaseFolder(dataDir).data);
}

/** The image of an empty database. The first time in an installation it is made, 6 s. */
export async function emptyImage(folder: DatabaseFolder): Promise<string> {
  if (existsSync(BUILT_IMAGE)) return BUILT_IMAGE;
  const file = isWritable(dirname(BUILT_IMAGE)) ? BUILT_IMAGE : `${folder.data}.image`;
  if (!existsSync(file)) await makeImage(file);
  return file;
}

/** Throws SchemaError when the folder is of another PostgreSQL: it must be read with the program that wrote it. */
export function checkVersion(folder: string): void {
  const file = join(folder, "PG_VERSION");
  const found = existsSync(file) ? readFileSync(file, "utf8").trim() : "";
  if (found === MAJOR || !/^\d{1,3}$/.test(found)) return;
  throw new SchemaError(
    `the embedded database in ${folder} was written by PostgreSQL ${found}, and this program has PostgreSQL ${MAJOR}: start the version that wrote it, or move the folder away`,
  );
}

/** Whether it has what every database has; without it no engine needs to be asked. */
export function looksWhole(folder: string): boolean {
  return (
    ["PG_VERSION", "global/pg_control", "base", "pg_wal"].every((name) => existsSync(join(folder, name))) && readdirSync(folder).length > 5
  );
}

function makeImage(file: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(builtFile("pglite/make-image.js"), [], {
      execArgv: [],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      timeout: MAKE_IMAGE_MS,
    });
    let text = "";
    child.stderr?.on("data", (piece) => {
      text = (text + String(piece)).slice(-2_000);
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0 && existsSync(file)) resolve();
      else reject(new SqlUnavailable(`the embedded database could not be made: ${text.trim() || `it ended with ${signal ?? code}`}`));
    });
    child.send(file);
  });
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
