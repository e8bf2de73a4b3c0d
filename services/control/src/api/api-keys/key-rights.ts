import { type ApiKeyResource, GatewayError } from "@unigate/core";
import type { Finding } from "../../declared/problem.ts";
import { scopesOf } from "../../keys.ts";
import type { SavedRow } from "../../saved/types.ts";
import { missingConfig } from "../../tenants.ts";
import type { Asked } from "../asked.ts";
import { holdsScope, requireAllScopes, requireScope } from "../caller.ts";
import { invalidField, refuseFindings } from "../read-fields.ts";
import { type Thing, thingsOf } from "../things.ts";

/** Scopes are given by type of key (behaviour 10.4). */
const FAMILIES: Readonly<Record<ApiKeyResource["type"], string>> = {
  "organisation-service": "organisation_service_api_keys",
  "workspace-service": "workspace_service_api_keys",
  "workspace-user": "workspace_user_api_keys",
};

/** The resource of a key's row. */
export function keyOf({ resource }: Pick<SavedRow, "resource">): ApiKeyResource {
  if (resource === null) throw new Error("a saved key has no resource");
  return resource as object as ApiKeyResource;
}

/** Throws scope_missing unless the caller may do this to keys of the type of this one. */
export function requireKeyRight(asked: Pick<Asked, "caller">, row: SavedRow, verb: string): void {
  requireScope(asked.caller, [`${FAMILIES[keyOf(row).type]}.${verb}`]);
}

/** The keys whose type the caller may list. */
export function keysToList(asked: Pick<Asked, "api" | "caller" | "organisationId">): Thing[] {
  return thingsOf(asked, "api_key").filter(({ row }) => holdsScope(asked.caller, `${FAMILIES[keyOf(row).type]}.list`));
}

/** The scopes that words stand for. Throws when one is none, or is more than the caller has himself. */
export function grantedScopes(asked: Pick<Asked, "caller">, words: readonly string[]): string[] {
  const findings: Finding[] = [];
  const scopes = scopesOf(words, (path, message) => findings.push({ path, message }));
  refuseFindings(findings);
  requireAllScopes(asked.caller, scopes, "nobody gives a key more than he may do");
  return scopes;
}

/** Throws when a default config is none that requests of the workspace could use. `whose` = of a key or of a workspace. */
export function requireConfig(
  asked: Pick<Asked, "api" | "caller" | "organisationId">,
  configId: string | null,
  workspaceId: string,
  whose: "key" | "workspace",
): void {
  const seen = thingsOf(asked, "config").filter(({ row }) => row.workspaceId === null || row.workspaceId === workspaceId);
  const slugs = seen.map(({ row }) => row.slug);
  const missing = missingConfig(configId, slugs, `config that this ${whose} could use`);
  if (missing !== null) throw invalidField("defaults.config_id", missing);
}

/** A workspace key makes no keys of the whole organisation. */
export function requireOrganisationKey({ caller }: Pick<Asked, "caller">): void {
  if (caller.workspaceId !== null)
    throw new GatewayError("scope_missing", "Only an organisation key may do this; this one is a workspace's.");
}
