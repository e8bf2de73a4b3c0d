import type { WorkspaceResource } from "@unigate/core";
import type { EdgeDeps } from "../../deps.ts";
import type { GatewayRequest } from "../../gateway-request.ts";

export type WorkspaceDefaults = WorkspaceResource["defaults"];

const NONE: WorkspaceDefaults = { config_id: null, metadata: {} };

/** What the key's workspace says for all its requests; undefined when control must be asked. */
export function knownDefaults({ resolver }: EdgeDeps, { principal }: GatewayRequest): WorkspaceDefaults | undefined {
  const found = resolver.peek<WorkspaceResource>(principal.workspace);
  return found === undefined ? undefined : (found?.value.defaults ?? NONE);
}

/** The same, asking control. Throws identity_unavailable. */
export async function askDefaults({ resolver }: EdgeDeps, { principal, call }: GatewayRequest): Promise<WorkspaceDefaults> {
  const found = await resolver.resolve<WorkspaceResource>(principal.workspace, call);
  return found?.value.defaults ?? NONE;
}
