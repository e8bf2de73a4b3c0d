import type { Breaker } from "@unigate/contracts";
import { bufferOfJson, type Call, type CompiledConfig, GatewayError, type JsonObject } from "@unigate/core";
import type { EdgeDeps } from "../deps.ts";
import { findInlineConfig, findSavedConfig } from "../pipeline/steps/resolve-config.ts";
import type { Principal } from "../principal.ts";
import { refuse } from "./ranges.ts";

const INLINE_ID = /^sha256:[0-9a-f]{64}$/;

/** A config as the router knows it; `compiled` null = this process has not run it. */
interface Asked {
  readonly id: string;
  readonly hash: Buffer;
  readonly compiled: CompiledConfig | null;
}

/**
 * GET /v1/circuit-breakers?config=, by a saved config's id or an inline one's "sha256:..." (as logs name it). Only
 * what the caller's organisation runs; saved configs only of a workspace that the key sees.
 */
export async function listBreakers(deps: EdgeDeps, principal: Principal, query: string, call: Call): Promise<Buffer> {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) if (name !== "config") refuse(name.slice(0, 80), "config as the name of a query parameter");
  const config = await askedConfig(deps, principal, parameters.get("config") ?? "", call);
  const { breakers } = await deps.router.breakers({ tenant: principal.tenant, configId: config.id, configHash: config.hash }, call);
  return bufferOfJson({ object: "list", config: config.id, data: merged(config.compiled, breakers) });
}

async function askedConfig(deps: EdgeDeps, principal: Principal, id: string, call: Call): Promise<Asked> {
  if (INLINE_ID.test(id)) {
    const known = findInlineConfig(principal.tenant.organisationId, id);
    return { id, hash: known?.hash ?? Buffer.from(id.slice("sha256:".length), "hex"), compiled: known?.compiled ?? null };
  }
  if (!/^pc-.{1,200}$/.test(id)) refuse("config", 'the id of a saved config ("pc-...") or of an inline one ("sha256:...")');
  const saved = await findSavedConfig(deps.resolver, principal.tenant, id, call);
  if (saved === null) throw new GatewayError("not_found", `There is no saved config "${id.slice(0, 80)}" in this workspace.`);
  return saved;
}

/** Every target that has a breaker, in the order of the config; of one that is not known, those that failed lately. */
function merged(compiled: CompiledConfig | null, breakers: readonly Breaker[]): JsonObject[] {
  if (compiled === null) return breakers.map(described);
  const known = new Map(breakers.map((breaker) => [breaker.optionPath, breaker]));
  const guarded = compiled.needsRouter ? compiled.leaves.filter((leaf) => leaf.breaker !== null) : [];
  return guarded.map(({ optionPath }) =>
    described(known.get(optionPath) ?? { optionPath, state: "closed", failures: 0, successes: 0, openUntil: 0 }),
  );
}

function described({ optionPath, state, failures, successes, openUntil }: Breaker): JsonObject {
  const open_until = openUntil === 0 ? null : new Date(openUntil).toISOString();
  return { option_path: optionPath, state, failures, successes, open_until };
}
