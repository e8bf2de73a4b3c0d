import type { Ref } from "@unigate/contracts";
import type { ResourceRef } from "./types.ts";

/**
 * The cache key of a ref: one a tenant, so that walls between tenants hold in the cache too. The id comes last: it is
 * the only part that a caller chooses.
 */
export function keyOf(ref: ResourceRef): string {
  const { keyHash, tenant } = ref;
  if (keyHash !== undefined && keyHash.length > 0) return `#${keyHash.toString("latin1")}`;
  return `${ref.kind}\n${tenant.organisationId}\n${tenant.workspaceId}\n${ref.id}`;
}

/** What a change may name a thing by: the same for every tenant of an organisation that sees it. */
export function subjectsOf(ref: ResourceRef | Ref): string[] {
  const subjects: string[] = [];
  if (ref.keyHash !== undefined && ref.keyHash.length > 0) subjects.push(`#${ref.keyHash.toString("latin1")}`);
  if (ref.kind === "api_key") {
    // Ids of keys are unique over all organisations, and a key may be asked for before its organisation is known.
    if (ref.id !== "") subjects.push(keySubject(ref.id));
  } else subjects.push(`${ref.kind}\n${ref.tenant?.organisationId ?? ""}\n${ref.id}`);
  return subjects;
}

/** The subject of an api_key that was found by its hash. */
export function keySubject(id: string): string {
  return `api_key\n${id}`;
}
