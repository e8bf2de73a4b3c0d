import { CancelToken, type Clock, sleep } from "@unigate/core";
import type { Logger } from "@unigate/runtime";
import type { Sealer } from "@unigate/secrets";
import { type SqlEngine, sqlState } from "@unigate/sql";
import { openJournalStore } from "./journal/journal-store.ts";
import type { PortableStore } from "./portable-store.ts";
import { MASTER_KEY_TEXT, type MasterKeyMark, SavedStoreError } from "./store-error.ts";
import { SavedUnavailable } from "./types.ts";

export interface SavedPlace {
  /** Where the journal is, when there is no database. */
  readonly dataDir: string;
  /** Closed by whoever opened it; null = the journal. */
  readonly database: SqlEngine | null;
  readonly masterKey: MasterKeyMark;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
  /** How long a database is waited for, and how often it is tried, ms. Default 30 s, 3 s. */
  readonly patience?: { readonly mostMs: number; readonly everyMs: number };
}

/**
 * Opens the store of saved things. A database that does not answer is waited for. Throws SavedStoreError or
 * SchemaError when the store cannot be used as it is.
 */
export async function openSavedStore({ dataDir, database, patience, ...deps }: SavedPlace): Promise<PortableStore> {
  if (database === null) return openJournalStore({ folder: dataDir, ...deps });
  // Loaded here: a process without a database does not pay for it.
  const { openSqlStore } = await import("./sql/sql-store.ts");
  const { mostMs, everyMs } = patience ?? { mostMs: 30_000, everyMs: 3_000 };
  const giveUpAt = performance.now() + mostMs;
  for (;;) {
    try {
      return await openSqlStore(database, deps.masterKey);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (sqlState(error) !== null) throw new SavedStoreError(`the database (UNIGATE_DATABASE_URL) refuses: ${why}`, { cause: error });
      if (!(error instanceof SavedUnavailable)) throw error;
      if (performance.now() + everyMs > giveUpAt) {
        const text = `the database (UNIGATE_DATABASE_URL) was waited for ${mostMs / 1_000} s: ${why}; expected ${EXPECTED[database.kind]}`;
        throw new SavedStoreError(text, { cause: error });
      }
      deps.log.warn({ error: why }, "the database of saved things does not answer yet; it is tried again");
    }
    await sleep(everyMs, new CancelToken());
  }
}

const EXPECTED: Readonly<Record<SqlEngine["kind"], string>> = {
  postgres: "a PostgreSQL server that answers there",
  pglite: "an embedded database that can be opened, with room on the disk and in memory",
};

/** What the store remembers of a process's master key. `source` is where that key was read from. */
export function masterKeyMark(sealer: Pick<Sealer, "fingerprint">, source: string): MasterKeyMark {
  return { fingerprint: sealer.fingerprint(MASTER_KEY_TEXT), source };
}
