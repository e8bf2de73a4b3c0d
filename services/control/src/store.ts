import type { Clock } from "@unigate/core";
import { type Logger, markOf, pollFile } from "@unigate/runtime";
import type { Sealer } from "@unigate/secrets";
import type { SqlEngine } from "@unigate/sql";
import { endTransitions } from "./api/api-keys/end-transitions.ts";
import { changesBetween } from "./changes.ts";
import type { CheckConfig } from "./configs.ts";
import type { Environment } from "./declared/env-references.ts";
import { DeclaredError, problemText } from "./declared/problem.ts";
import { createFind, type Find } from "./find.ts";
import type { CheckCatalogue } from "./guardrails.ts";
import { type FirstKeys, openKeyFile } from "./key-file.ts";
import { keyDraft } from "./keys.ts";
import { loadDeclared } from "./load.ts";
import type { CatalogueProvider } from "./providers.ts";
import { masterKeyMark, openSavedStore } from "./saved/open-saved.ts";
import { type LiveSaved, openSaved } from "./saved/saved.ts";
import { makeSnapshot, type Snapshot } from "./snapshot.ts";
import { createWatchHub, type WatchHub, type WatchLimits } from "./watch-hub.ts";

export interface ControlDeps {
  /** unigate.yaml; null = nothing is declared. */
  readonly configFile: string | null;
  /** Where keys.json is, and control.journal when there is no database. */
  readonly dataDir: string;
  /** Where saved things are; it stays open as long as the store. Default null = the journal. */
  readonly database?: SqlEngine | null;
  /** The variable or file that the sealer's master key was read from. Default UNIGATE_MASTER_KEY. */
  readonly masterKeySource?: string;
  /** The process's environment: ${NAME} references, keys of providers, UNIGATE_ADMIN_KEY. */
  readonly environment: Environment;
  readonly catalogue: readonly CatalogueProvider[];
  readonly checkConfig: CheckConfig;
  readonly checks: CheckCatalogue;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
  /** How often the file is looked at, and the database for changes of others, ms. Default 250; an embedded database 2,000. */
  readonly pollMs?: number;
  readonly watch?: Partial<WatchLimits>;
}

/** What control knows, kept up to date with its sources. */
export interface ControlStore {
  /** What is declared. */
  snapshot(): Snapshot;
  /** What is saved. */
  readonly saved: LiveSaved;
  /** Finds what is declared or saved, for Resolve. */
  readonly find: Find;
  readonly hub: WatchHub;
  /** Keys made by this start, to be shown once. */
  readonly firstKeys: FirstKeys;
  /** Reads the declared file again. False when it has problems: they are logged, and what was known stays. */
  reload(): Promise<boolean>;
  /** Stops looking at the file and at the store, and ends every watch. */
  close(): Promise<void>;
}

/**
 * Loads all sources. Throws DeclaredError when the declared file cannot be used at the start: there is no good version
 * yet; and SavedStoreError or SchemaError when the store of saved things cannot be used.
 */
export async function openControlStore(deps: ControlDeps): Promise<ControlStore> {
  const { configFile, log, sealer } = deps;
  // Before the file is read: an edit from here on is noticed.
  const mark = configFile === null ? "" : await markOf(configFile);
  const loaded = await loadDeclared(configFile, deps);
  if (!loaded.ok) throw new DeclaredError(loaded.problems);
  const adminKey = deps.environment["UNIGATE_ADMIN_KEY"];
  if (adminKey !== undefined && adminKey !== "" && adminKey.length < MIN_ADMIN_KEY)
    log.warn({ shorterThan: MIN_ADMIN_KEY }, "UNIGATE_ADMIN_KEY is short");
  const { keys, firstKeys } = await openKeyFile(deps.dataDir, adminKey, deps.clock);
  const sourceOf = (id: string): string =>
    id === "admin" && adminKey !== undefined && adminKey !== "" ? "UNIGATE_ADMIN_KEY" : "keys.json";
  const storedKeys = keys.map((key) => ({ ...keyDraft(key), source: sourceOf(key.id) }));
  const hub = createWatchHub(deps.watch);
  let snapshot = makeSnapshot([...storedKeys, ...loaded.drafts], null, sealer);
  const saved = await openSavedOf(deps, hub);
  let reloading: Promise<boolean> = Promise.resolve(true);

  async function readAgain(): Promise<boolean> {
    const result = await loadDeclared(configFile, deps);
    if (!result.ok) {
      log.error({ problems: result.problems.map(problemText) }, "declared resources have problems; the last good version stays");
      return false;
    }
    const next = makeSnapshot([...storedKeys, ...result.drafts], snapshot, sealer);
    const changes = changesBetween(snapshot, next);
    snapshot = next;
    hub.publish(changes);
    log.info({ changes: changes.length }, "declared resources were read again");
    return true;
  }

  /** One after the other, so that the last file wins. */
  function reload(): Promise<boolean> {
    reloading = reloading.then(readAgain);
    return reloading;
  }

  const transitions = setInterval(() => {
    void endTransitions({ saved, snapshot: () => snapshot, clock: deps.clock }, (reason) =>
      log.warn({ error: String(reason) }, "the former text of a rotated key still works; it is ended at the next look"),
    );
  }, TRANSITIONS_MS).unref();
  const stop = configFile === null ? () => {} : pollFile(() => markOf(configFile), mark, deps.pollMs ?? POLL_MS, reload);
  return {
    snapshot: () => snapshot,
    saved,
    find: createFind(() => snapshot, saved, sealer),
    hub,
    firstKeys,
    reload,
    async close() {
      stop();
      clearInterval(transitions);
      hub.close();
      await saved.close();
    },
  };
}

async function openSavedOf(deps: ControlDeps, hub: WatchHub): Promise<LiveSaved> {
  const { dataDir, database = null, sealer, clock, log, masterKeySource = "UNIGATE_MASTER_KEY" } = deps;
  const store = await openSavedStore({ dataDir, database, masterKey: masterKeyMark(sealer, masterKeySource), clock, log });
  // Only a server has other writers. An embedded database may have saved what it died over before it could say so.
  const pollMs = database === null ? null : (deps.pollMs ?? (database.kind === "postgres" ? POLL_MS : ALONE_POLL_MS));
  return openSaved({ store, hub, sealer, log, pollMs });
}

const MIN_ADMIN_KEY = 16;
const POLL_MS = 250;
const ALONE_POLL_MS = 2_000;
/** How often transitions of rotated keys are looked at. */
const TRANSITIONS_MS = 5_000;
