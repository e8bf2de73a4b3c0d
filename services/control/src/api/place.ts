import { GatewayError } from "@unigate/core";
import { DEFAULT_ORGANISATION, DEFAULT_WORKSPACE } from "../tenants.ts";
import type { ApiDeps, Asked } from "./asked.ts";
import type { Caller } from "./caller.ts";

/** Where new organisations are kept: the first one has them all. */
export const HOME_OF_ORGANISATIONS = DEFAULT_ORGANISATION;

/**
 * The organisation that a request is about. Only the admin key may name another than its own; any other gets the same
 * not_found as for one that does not exist.
 */
export function organisationOf(api: ApiDeps, caller: Caller, named: string | undefined): string {
  if (named === undefined || named === caller.organisationId) return caller.organisationId;
  if (caller.isAdmin && organisationIds(api).includes(named)) return named;
  throw new GatewayError("not_found", "There is no such organisation.", { param: "organisation_id" });
}

/** Every organisation that there is. */
export function organisationIds(api: Pick<ApiDeps, "saved" | "snapshot">): string[] {
  const declared = api.snapshot().items.filter(({ kind }) => kind === "organisation");
  return [...new Set([...declared, ...api.saved.list("organisation", HOME_OF_ORGANISATIONS)].map(({ id }) => id))];
}

/**
 * The workspace that a new thing belongs to; null = the whole organisation. A workspace key makes things in its own
 * workspace only. Throws not_found for a workspace that is not there or is another key's.
 */
export function workspaceOf(asked: Pick<Asked, "api" | "caller" | "organisationId">, named: string | null | undefined): string | null {
  const { caller } = asked;
  const absent = named === undefined || named === null;
  if (caller.workspaceId !== null) {
    if (absent || named === caller.workspaceId) return caller.workspaceId;
  } else {
    if (absent) return null;
    const found = workspaceIdOf(asked, named);
    if (found !== null) return found;
  }
  throw new GatewayError("not_found", "There is no such workspace.", { param: "workspace_id" });
}

/** The id of a workspace of the organisation; null = there is none of this name. */
export function workspaceIdOf({ api, organisationId }: Pick<Asked, "api" | "organisationId">, named: string): string | null {
  if (named === DEFAULT_WORKSPACE) return named;
  const declared = api
    .snapshot()
    .items.find((item) => item.kind === "workspace" && item.organisationId === organisationId && item.id === named);
  return declared?.id ?? api.saved.get("workspace", organisationId, named)?.id ?? null;
}
