import { textOfRow } from "./row-json.ts";
import type { RowState } from "./row-state.ts";
import type { SavedRow, SavedStore } from "./types.ts";

/** Everything that a store holds, to be taken elsewhere. */
export interface SavedEverything {
  /** The mark of the master key that seals the secrets in it (store-error.ts). */
  readonly masterKey: string;
  readonly rows: readonly SavedRow[];
  /** Configs as they were, the oldest of each first, without those in `rows`. */
  readonly former: readonly SavedRow[];
}

/** A row that cannot be taken over. */
export interface AdoptConflict {
  /** Its place in `rows`. */
  readonly index: number;
  readonly message: string;
}

/** A store that can be emptied into another one. */
export interface PortableStore extends SavedStore {
  everything(): Promise<SavedEverything>;
  /**
   * Takes rows as they are, whatever their version, all or none; rows that stand here already just so are left alone.
   * Gives why it could not: an id or a slug is taken. Nothing happened then.
   */
  adopt(
    everything: Pick<SavedEverything, "rows" | "former">,
  ): Promise<{ readonly added: number; readonly conflicts: readonly AdoptConflict[] }>;
}

/** Which rows are new to `state`, and which are in the way of one that is there. Adds them to `state`. */
export function planAdoption(
  { rows, former }: Pick<SavedEverything, "rows" | "former">,
  state: RowState,
): { readonly rows: SavedRow[]; readonly former: readonly SavedRow[]; readonly conflicts: AdoptConflict[] } {
  const added = new Map<string, SavedRow>();
  const conflicts: AdoptConflict[] = [];
  for (const [index, row] of rows.entries()) {
    const { kind, id, slug } = row;
    const present = state.get(kind, id);
    if (present !== undefined) {
      if (textOfRow(present) !== textOfRow(row)) conflicts.push({ index, message: `there is another ${kind} with the id ${id}` });
    } else if (state.holderOf(row) !== undefined) {
      conflicts.push({ index, message: `another ${kind} of the organisation ${row.organisationId} is named "${slug}"` });
    } else {
      state.set(kind, id, row);
      added.set(`${kind}\n${id}`, row);
    }
  }
  return { rows: [...added.values()], former: former.filter(({ kind, id }) => added.has(`${kind}\n${id}`)), conflicts };
}
