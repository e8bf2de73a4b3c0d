import { open, readFile } from "node:fs/promises";
import { exportSaved, importSaved, masterKeyMark } from "@unigate/control";
import { systemClock } from "@unigate/core";
import { createLogger, FlagError, type Settings } from "@unigate/runtime";
import { hasEmbeddedDatabase } from "@unigate/sql";
import { ownDataDir } from "./data-dir.ts";
import { openDatabase } from "./database.ts";
import { masterKeySource, openSealer } from "./master-key.ts";

/**
 * Everything that is saved where the settings say, with sealed secrets: into a new file (mode 0600), or as text when
 * there is no name. An embedded database must not be in use.
 */
export async function exportTo(file: string, settings: Settings): Promise<string> {
  requireEmbedded(settings);
  const database = await openDatabase(settings, null, createLogger(settings.logLevel, "unigate"));
  try {
    const text = await exportSaved({ dataDir: settings.dataDir, database });
    if (file === "") return text;
    const handle = await open(file, "wx", 0o600).catch((reason: unknown) => refuseFile("--export", reason));
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    return "";
  } finally {
    await database?.close();
  }
}

/** Takes over an exported file; gives the problems, a line each, and how many things are new. A journal or an embedded database must not be in use. */
export async function importFrom(
  file: string,
  settings: Settings,
): Promise<{ readonly added: number; readonly problems: readonly string[] }> {
  const bytes = await readFile(file).catch((reason: unknown) => refuseFile("--import", reason));
  const log = createLogger(settings.logLevel, "unigate");
  const database = await openDatabase(settings, null, log);
  const lock = database === null ? await ownDataDir(settings.dataDir) : null;
  try {
    const masterKey = masterKeyMark(await openSealer(settings, true), masterKeySource(settings));
    const place = { dataDir: settings.dataDir, database, masterKey, clock: systemClock, log };
    const { added, problems } = await importSaved({ name: file, bytes }, place);
    return { added, problems: problems.map(({ line, message }) => `${file}:${line}: ${message}`) };
  } finally {
    await lock?.release();
    await database?.close();
  }
}

/** What only reads makes no database. */
function requireEmbedded({ database }: Settings): void {
  if (database?.kind !== "pglite" || hasEmbeddedDatabase(database.folder)) return;
  throw new FlagError(`--export: there is no embedded database in ${database.folder}, which UNIGATE_DATABASE_URL names`);
}

function refuseFile(flag: string, reason: unknown): never {
  throw new FlagError(`${flag}: ${reason instanceof Error ? reason.message : String(reason)}`, { cause: reason });
}
