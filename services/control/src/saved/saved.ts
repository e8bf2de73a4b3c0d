import type { Ref } from "@unigate/contracts";
import { CancelToken, sleep } from "@unigate/core";
import type { Logger } from "@unigate/runtime";
import type { Sealer } from "@unigate/secrets";
import type { Item } from "../item.ts";
import type { WatchHub } from "../watch-hub.ts";
import { refsOfChange } from "./refs-of-change.ts";
import { createRowIndex } from "./row-index.ts";
import { idKey, thingOf } from "./row-state.ts";
import { type Saved, type SavedKind, type SavedRow, type SavedStore, SavedUnavailable } from "./types.ts";

/** The longest wait between two looks at a store that does not answer, ms. */
const MOST_WAIT_MS = 2_000;

/** Looks at the store until a change is told once more: others have seen it by then, and a second has not passed. */
const ECHO_AFTER = 3;

export interface SavedDeps {
  readonly store: SavedStore;
  readonly hub: Pick<WatchHub, "publish">;
  readonly sealer: Pick<Sealer, "fingerprint">;
  readonly log: Pick<Logger, "info" | "error">;
  /** How often the store is asked what others changed, ms; null = there are no others. */
  readonly pollMs: number | null;
}

/** `Saved`, with what control itself needs of it. */
export interface LiveSaved extends Saved {
  /** All of an organisation that the data plane sees; the same array until one of them changes. */
  items(kind: SavedKind, organisationId: string): readonly Item[];
  /** False while the store does not answer: reads go on, writes are refused. */
  reachable(): boolean;
  /** Number of rows. */
  size(): number;
  /** Ends following the store and closes it. */
  close(): Promise<void>;
}

/** Loads all rows of the store and follows its changes. Rejects when they cannot be loaded. */
export async function openSaved({ store, hub, sealer, log, pollMs }: SavedDeps): Promise<LiveSaved> {
  const index = createRowIndex(sealer);
  const loaded = await store.load();
  for (const row of loaded.rows) index.set(row.kind, row.id, row);
  /** Every change up to here is known. */
  let cursor = loaded.seq;
  /** Own changes beyond the cursor that were taken over when they were made, by thing. */
  const ahead = new Map<string, number>();
  let reachable = true;
  const closing = new CancelToken();

  /** What was told lately, the latest last: told once more, for caches that asked another process before it knew. */
  const echoes: Ref[][] = [[]];

  function tell(refs: readonly Ref[]): void {
    hub.publish(refs);
    if (pollMs !== null) echoes.at(-1)?.push(...refs);
  }

  function echo(): void {
    const due = echoes.length < ECHO_AFTER ? [] : (echoes.shift() ?? []);
    echoes.push([]);
    if (due.length > 0) hub.publish(due);
  }

  function take(seq: number, kind: SavedKind, id: string, row: SavedRow | null): void {
    if (seq <= (ahead.get(idKey(kind, id)) ?? 0)) return;
    const before = index.set(kind, id, row);
    tell(refsOfChange(before, row));
  }

  async function catchUp(): Promise<void> {
    for (;;) {
      const changes = await store.changesAfter(cursor);
      const last = changes.at(-1);
      if (last === undefined) return;
      for (const { seq, kind, id, row } of changes) take(seq, kind, id, row);
      cursor = last.seq;
      for (const [thing, seq] of ahead) if (seq <= cursor) ahead.delete(thing);
    }
  }

  async function follow(everyMs: number): Promise<void> {
    let wait = everyMs;
    while (!closing.cancelled) {
      await sleep(wait, closing);
      if (closing.cancelled) return;
      echo();
      try {
        await catchUp();
        if (!reachable) log.info({}, "the store of saved things answers again");
        reachable = true;
        wait = everyMs;
      } catch (error) {
        if (reachable)
          log.error(
            { error: String(error) },
            "the store of saved things does not answer: what is known is used, and nothing can be changed",
          );
        reachable = false;
        wait = Math.min(wait * 2, MOST_WAIT_MS);
      }
    }
  }

  const following = pollMs === null ? Promise.resolve() : follow(pollMs);
  return {
    get: (kind, organisationId, idOrSlug) => index.get(kind, organisationId, idOrSlug),
    list: (kind, organisationId) => index.list(kind, organisationId),
    find: index.find,
    items: index.items,
    reachable: () => reachable,
    size: () => index.size(),
    versions: (kind, id) => store.versions(kind, id),
    async write(changes) {
      if (!reachable) throw new SavedUnavailable("the store of saved things does not answer; nothing can be changed until it is back");
      const last = await store.write(changes);
      for (const [step, change] of changes.entries()) {
        const seq = last - changes.length + 1 + step;
        const { kind, id } = thingOf(change);
        // What came by the poll already may have been changed again by others.
        if (seq <= cursor) continue;
        take(seq, kind, id, "put" in change ? change.put : null);
        if (pollMs !== null) ahead.set(idKey(kind, id), Math.max(seq, ahead.get(idKey(kind, id)) ?? 0));
      }
      // Alone, changes come back in their order: nothing of others can be missing before them.
      if (pollMs === null) cursor = Math.max(cursor, last);
    },
    async close() {
      closing.cancel("shutdown");
      await following;
      await store.close();
    },
  };
}
