import { createRowState, idKey, KEPT_VERSIONS, type RowState, thingOf } from "../row-state.ts";
import type { SavedChange, SavedKind, SavedRow } from "../types.ts";
import { JOURNAL_FORMAT, type Line } from "./line.ts";

/** All that a journal says, in memory. */
export interface Contents {
  readonly state: RowState;
  /** Number of the last change. */
  seq(): number;
  /** Takes over what a line says, whatever stands there already. */
  replay(line: Line): void;
  /** Makes the changes of one write, or none of them: throws SavedConflict. Gives how to take them back. */
  attempt(changes: readonly SavedChange[]): () => void;
  /** The attempted changes are durable: they have numbers up to `seq` and are told to who asks. */
  settle(changes: readonly SavedChange[], seq: number): void;
  /** Things changed after `seq` since the start, the longest ago first. */
  changedAfter(seq: number): { readonly seq: number; readonly kind: SavedKind; readonly id: string }[];
  /** Newest first. */
  versions(id: string): readonly SavedRow[];
  /** Configs as they were, the oldest of each first. */
  former(): SavedRow[];
  /** The shortest journal that says all this. */
  lines(masterKey: string): Generator<Line>;
}

export function createContents(): Contents {
  const state = createRowState();
  /** By config id, the oldest first; the last one is the present one. */
  const versions = new Map<string, SavedRow[]>();
  /** By thing, in the order of their last changes. */
  const changed = new Map<string, { readonly seq: number; readonly kind: SavedKind; readonly id: string }>();
  let last = 0;

  function keep(row: SavedRow): void {
    if (row.kind !== "config") return;
    const kept = versions.get(row.id) ?? [];
    versions.set(row.id, kept);
    kept.push(row);
    if (kept.length > KEPT_VERSIONS) kept.shift();
  }

  function settle(changes: readonly SavedChange[], seq: number): void {
    for (const [index, change] of changes.entries()) {
      const { kind, id } = thingOf(change);
      const key = idKey(kind, id);
      changed.delete(key);
      changed.set(key, { seq: seq - changes.length + 1 + index, kind, id });
      if ("put" in change) keep(change.put);
      else if (kind === "config") versions.delete(id);
    }
    last = Math.max(last, seq);
  }

  function former(): SavedRow[] {
    return [...versions.values()].flat().filter((row) => row !== state.get(row.kind, row.id));
  }

  return {
    state,
    former,
    seq: () => last,
    settle,
    replay(line) {
      if (line.kind === "header") last = Math.max(last, line.seq);
      else if (line.kind === "former") keep(line.row);
      else if (line.kind === "row") {
        state.set(line.row.kind, line.row.id, line.row);
        keep(line.row);
      } else {
        for (const change of line.changes) {
          const { kind, id } = thingOf(change);
          state.set(kind, id, "put" in change ? change.put : undefined);
        }
        settle(line.changes, line.seq);
      }
    },
    attempt(changes) {
      const undo: (() => void)[] = [];
      const takeBack = (): void => {
        for (const step of undo.toReversed()) step();
      };
      try {
        for (const change of changes) {
          const { kind, id } = thingOf(change);
          const before = state.get(kind, id);
          state.apply(change);
          undo.push(() => state.set(kind, id, before));
        }
      } catch (reason) {
        takeBack();
        throw reason;
      }
      return takeBack;
    },
    changedAfter: (seq) => [...changed.values()].filter((change) => change.seq > seq),
    versions: (id) => versions.get(id)?.toReversed() ?? [],
    *lines(masterKey) {
      yield { kind: "header", format: JOURNAL_FORMAT, masterKey, seq: last };
      for (const row of former()) yield { kind: "former", row };
      for (const row of state.rows()) yield { kind: "row", row };
    },
  };
}
