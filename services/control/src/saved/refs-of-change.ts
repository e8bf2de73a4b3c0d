import type { Ref } from "@unigate/contracts";
import { listRef } from "../changes.ts";
import type { SavedRow } from "./types.ts";

const NO_HASH = Buffer.alloc(0);

/** What caches must forget when a row became another one, or came, or went. Nothing of what the data plane does not see. */
export function refsOfChange(before: SavedRow | undefined, after: SavedRow | null): Ref[] {
  const row = after ?? before;
  if (row === undefined || ((before?.resource ?? null) === null && (after?.resource ?? null) === null)) return [];
  const { kind, id, organisationId } = row;
  const tenant = { organisationId, workspaceId: row.workspaceId ?? "" };
  const refs: Ref[] = [];
  if (kind === "api_key") {
    const hashes = new Set([...(before?.keyHashes ?? []), ...(after?.keyHashes ?? [])]);
    for (const hash of hashes) refs.push({ kind, id, tenant, keyHash: Buffer.from(hash, "hex"), version: "" });
  }
  if (refs.length === 0) {
    // Asked for by slug, and by id where it has both; by the slug that it had before as well.
    const names = new Set([id, before?.slug ?? id, after?.slug ?? id]);
    for (const name of names) refs.push({ kind, id: name, tenant, keyHash: NO_HASH, version: "" });
  }
  const list = listRef(kind, organisationId);
  return list === null ? refs : [...refs, list];
}
