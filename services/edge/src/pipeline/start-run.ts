import type { Call } from "@unigate/core";
import type { EdgeDeps } from "../deps.ts";
import type { GatewayRequest } from "../gateway-request.ts";
import { mergeMetadata } from "../metadata.ts";
import { newHookState, type Run } from "./run-state.ts";
import { resolveConfig } from "./steps/resolve-config.ts";
import { askDefaults, knownDefaults } from "./steps/workspace-defaults.ts";

/** A request with its config and all its metadata. Throws what resolveConfig throws. */
export async function startRun(deps: EdgeDeps, request: GatewayRequest, call: Call): Promise<Run> {
  const workspace = knownDefaults(deps, request) ?? (await askDefaults(deps, request));
  return {
    deps,
    request,
    call,
    config: await resolveConfig(deps, request, workspace.config_id),
    metadata: mergeMetadata(request.metadata, request.principal.key, workspace.metadata),
    attempts: 0,
    limits: { isReserved: false, ofRequest: [], ofTarget: [] },
    decision: {},
    planning: null,
    tried: [],
    probes: [],
    endTarget: null,
    spoolNumber: 0,
    isOver: false,
    hooks: newHookState(),
  };
}
