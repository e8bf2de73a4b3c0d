import { nearestName, type WorkspaceResource } from "@unigate/core";
import type { DeclaredConfig, DeclaredWorkspace } from "./declared/grammar.ts";
import { type Finding, quoted } from "./declared/problem.ts";
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

/**
 * The organisations and workspaces that exist: the default ones, and every one that something declared belongs to.
 * Each organisation has a workspace "ws-default".
 */
export function tenantDrafts(drafts: readonly Pick<Draft, "kind" | "id" | "organisationId" | "workspaceId">[]): Draft[] {
  const workspaces = new Map<string, Set<string>>([[DEFAULT_ORGANISATION, new Set([DEFAULT_WORKSPACE])]]);
  const declared = new Set<string>();
  for (const { kind, id, organisationId, workspaceId } of drafts) {
    const known = workspaces.get(organisationId) ?? new Set([DEFAULT_WORKSPACE]);
    workspaces.set(organisationId, known);
    if (workspaceId !== null) known.add(workspaceId);
    if (kind === "workspace") declared.add(`${organisationId}/${id}`);
  }
  return [...workspaces].flatMap(([organisation, ids]) => {
    const others = [...ids].filter((id) => !declared.has(`${organisation}/${id}`));
    return [organisationDraft(organisation), ...others.map((id) => workspaceDraft(emptyWorkspace(organisation, id)))];
  });
}

/** Declared workspaces and what is wrong with them. `configs` are those that a default may name. */
export function declaredWorkspaces(
  declared: readonly DeclaredWorkspace[],
  configs: readonly DeclaredConfig[],
): { readonly drafts: readonly Draft[]; readonly findings: readonly Finding[] } {
  const findings: Finding[] = [];
  const drafts = declared.map(({ id, name = id, organisation = DEFAULT_ORGANISATION, defaults }, index) => {
    const resource: WorkspaceResource = {
      id,
      name,
      organisation_id: organisation,
      defaults: { config_id: defaults?.config_id ?? null, metadata: defaults?.metadata ?? {} },
    };
    const seen = configs.filter((config) => isSeenIn(config, organisation, id)).map((config) => config.id);
    const missing = missingConfig(resource.defaults.config_id, seen, "declared config of this workspace");
    if (missing !== null) findings.push({ path: `workspaces[${index}].defaults.config_id`, message: missing });
    return workspaceDraft(resource);
  });
  return { drafts, findings };
}

/** Whether requests of a workspace may use a declared config. */
export function isSeenIn(config: DeclaredConfig, organisation: string, workspace: string): boolean {
  if ((config.organisation ?? DEFAULT_ORGANISATION) !== organisation) return false;
  return config.workspace === undefined || config.workspace === workspace;
}

/** What is wrong with a default config; `seen` are those that may be one. */
export function missingConfig(configId: string | null, seen: readonly string[], what: string): string | null {
  if (configId === null || seen.includes(configId)) return null;
  const near = nearestName(configId, seen);
  return `${quoted(configId)} is no ${what}${near === null ? "" : `; did you mean "${near}"?`}`;
}

/** A workspace that nothing says anything about. */
export function emptyWorkspace(organisationId: string, id: string): WorkspaceResource {
  return { id, name: id, organisation_id: organisationId, defaults: { config_id: null, metadata: {} } };
}

function organisationDraft(id: string): Draft {
  const json: OrganisationResource = { id, name: id, default_workspace_id: DEFAULT_WORKSPACE };
  return { kind: "organisation", id, organisationId: id, workspaceId: null, content: json, make: () => ({ json }) };
}

function workspaceDraft(json: WorkspaceResource): Draft {
  const { id, organisation_id: organisationId } = json;
  return { kind: "workspace", id, organisationId, workspaceId: null, content: json, make: () => ({ json }) };
}
