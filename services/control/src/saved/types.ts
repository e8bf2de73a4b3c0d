import type { Ref, Sealed } from "@unigate/contracts";
import type { JsonObject } from "@unigate/core";
import type { Item } from "../item.ts";

/** What the management API saves. */
export type SavedKind =
  | "organisation"
  | "workspace"
  | "api_key"
  | "integration"
  | "provider"
  | "config"
  | "guardrail"
  | "rate_limit_policy";

/** One saved thing as it stands. Never changed: a change makes another row of the next version. */
export interface SavedRow {
  readonly kind: SavedKind;
  /** Unique in its kind over all organisations, and never used again. */
  readonly id: string;
  /** The name that requests use: unique in (kind, organisation). The id where the kind has no other name. */
  readonly slug: string;
  readonly organisationId: string;
  /** Null = the whole organisation's. */
  readonly workspaceId: string | null;
  /** 1 at first; each change adds one. */
  readonly version: number;
  /** Unix ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Exactly what Resolve gives out (packages/core/src/resources.ts by kind), without secrets; null = the data plane does not see it. */
  readonly resource: JsonObject | null;
  /** What only the management API knows: description, note, masked key. Without secrets. */
  readonly details: JsonObject;
  readonly sealed: Sealed | null;
  /** SHA-256 of every text that an api_key is known by, hex: two while a rotation goes on. Empty for other kinds. */
  readonly keyHashes: readonly string[];
}

/** One step of a change. All steps of a write happen, or none. */
export type SavedChange =
  /** `row.version` 1 = it must be new, in id and slug; else the row before it must be the present one. */
  { readonly put: SavedRow } | { readonly remove: Pick<SavedRow, "kind" | "id" | "version"> };

/** The present state was another than the change expected: somebody was faster, or the slug is taken. */
export class SavedConflict extends Error {
  override readonly name = "SavedConflict";
  readonly what: "slug_taken" | "changed" | "gone";

  constructor(what: "slug_taken" | "changed" | "gone", message: string) {
    super(message);
    this.what = what;
  }
}

/** The store cannot be reached or written to now: nothing is known to be changed, and the same write may work later. */
export class SavedUnavailable extends Error {
  override readonly name = "SavedUnavailable";
}

/** Where saved things survive: a journal in the data folder, or Postgres. One contract suite for both. */
export interface SavedStore {
  /** All rows and the number of the last change, at the start. */
  load(): Promise<{ readonly rows: readonly SavedRow[]; readonly seq: number }>;
  /** All or nothing, durable when it resolves with the number of the last change. Rejects with SavedConflict or SavedUnavailable. */
  write(changes: readonly SavedChange[]): Promise<number>;
  /** What others and we changed after `seq`, oldest first; each with the thing's present row, null = removed. Bounded. */
  changesAfter(
    seq: number,
  ): Promise<readonly { readonly seq: number; readonly kind: SavedKind; readonly id: string; readonly row: SavedRow | null }[]>;
  /** Former and present rows of a thing, newest first: of configs only, the last 1,000. */
  versions(kind: SavedKind, id: string): Promise<readonly SavedRow[]>;
  close(): Promise<void>;
}

/** The saved things in memory, kept up to date with the store. Reads need no store. */
export interface Saved {
  /** By id or by slug. Tenants are the caller's business: nothing of another organisation is found. */
  get(kind: SavedKind, organisationId: string, idOrSlug: string): SavedRow | undefined;
  /** All of an organisation, oldest first. */
  list(kind: SavedKind, organisationId: string): readonly SavedRow[];
  /** Resolves when the change is durable, seen by `get`, and on its way to every Watch. Rejects with SavedConflict or SavedUnavailable. */
  write(changes: readonly SavedChange[]): Promise<void>;
  versions(kind: SavedKind, id: string): Promise<readonly SavedRow[]>;
  /** For Resolve: what the data plane sees. */
  find(ref: Ref): Item | undefined;
}
