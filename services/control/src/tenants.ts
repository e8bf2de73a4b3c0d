import type { Draft } from "./item.ts";

/** The tenant that exists from the first start (DESIGN 8.13). */
export const DEFAULT_ORGANISATION = "org-default";
export const DEFAULT_WORKSPACE = "ws-default";

/** `Resolved.json` of kind organisation. */
export interface OrganisationResource {
  readonly id: string;
  readonly name: string;
  /** Where its organisation keys work. */
  readonly default_workspace_id: string;
}

/** `Resolved.json` of kind workspace. */
export interface WorkspaceResource {
  readonly id: string;
  readonly name: string;
  readonly organisation_id: string;
  readonly defaults: { readonly config_id: string | null; readonly metadata: Readonly<Record<string, string>> };
}

/**
 * The organisations and workspaces that exist: the default ones, and every one that something declared belongs to.
 * Each organisation has a workspace "ws-default".
 */
export function tenantDrafts(drafts: readonly Pick<Draft, "organisationId" | "workspaceId">[]): Draft[] {
  const workspaces = new Map<string, Set<string>>([[DEFAULT_ORGANISATION, new Set([DEFAULT_WORKSPACE])]]);
  for (const { organisationId, workspaceId } of drafts) {
    const known = workspaces.get(organisationId) ?? new Set([DEFAULT_WORKSPACE]);
    workspaces.set(organisationId, known);
    if (workspaceId !== null) known.add(workspaceId);
  }
  return [...workspaces].flatMap(([id, ids]) => [organisationDraft(id), ...[...ids].map((workspace) => workspaceDraft(id, workspace))]);
}

function organisationDraft(id: string): Draft {
  const json: OrganisationResource = { id, name: id, default_workspace_id: DEFAULT_WORKSPACE };
  return { kind: "organisation", id, organisationId: id, workspaceId: null, content: json, make: () => ({ json }) };
}

function workspaceDraft(organisationId: string, id: string): Draft {
  const json: WorkspaceResource = { id, name: id, organisation_id: organisationId, defaults: { config_id: null, metadata: {} } };
  return { kind: "workspace", id, organisationId, workspaceId: null, content: json, make: () => ({ json }) };
}
