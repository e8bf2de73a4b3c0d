import type { SavedRow } from "./saved/types.ts";

/** Which workspaces may use the providers of an integration. */
export interface WorkspaceAccess {
  /** What holds for a workspace that is not named; null = nothing was said. */
  readonly everyone: boolean | null;
  readonly workspaces: readonly { readonly id: string; readonly enabled: boolean }[];
}

/** Where nothing was said of the others, a list that gives access to some gives it to nobody else. */
export function mayUse(access: WorkspaceAccess | undefined, workspaceId: string): boolean {
  if (access === undefined) return true;
  const { everyone, workspaces } = access;
  const own = workspaces.find(({ id }) => id === workspaceId);
  return own?.enabled ?? everyone ?? !workspaces.some(({ enabled }) => enabled);
}

/** What the row of an integration, or of a provider of one, says; undefined = nothing. */
export function workspaceAccessOf({ details }: Pick<SavedRow, "details">): WorkspaceAccess | undefined {
  return details["workspace_access"] as WorkspaceAccess | undefined;
}
