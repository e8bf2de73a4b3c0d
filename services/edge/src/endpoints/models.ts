import { type Call, GatewayError, mayUseModel, type ProviderListResource } from "@unigate/core";
import { findProvider } from "@unigate/providers";
import type { EdgeDeps } from "../deps.ts";
import type { Principal } from "../principal.ts";

interface Model {
  readonly id: string;
  readonly object: "model";
  readonly created: number;
  readonly owned_by: string;
}

/**
 * GET /v1/models: "@slug/model" for every provider that the key may use, from the catalogue, without any upstream
 * call (DESIGN 8.15, 8.23). `mock` is always there, so that something can be tried.
 */
export async function listModels(
  deps: EdgeDeps,
  principal: Principal,
  call: Call,
): Promise<{ object: "list"; data: Model[]; total_count: number }> {
  const ref = { kind: "providers", id: "", tenant: principal.tenant } as const;
  const found = await deps.resolver.resolve<ProviderListResource>(ref, call);
  const { allowed_models, allowed_providers } = principal.key;
  const data: Model[] = [];
  for (const { slug, provider, model_access } of found?.value.providers ?? []) {
    if (allowed_providers !== null && !allowed_providers.includes(slug)) continue;
    const known = findProvider(provider)?.models ?? [];
    for (const model of new Set([...known, ...(model_access?.enabled ?? [])])) {
      if ((allowed_models !== null && !allowed_models.includes(model)) || !mayUseModel(model_access, model)) continue;
      data.push({ id: `@${slug}/${model}`, object: "model", created: 0, owned_by: provider });
    }
  }
  return { object: "list", data, total_count: data.length };
}

/** GET /v1/models/{id}. */
export async function getModel(deps: EdgeDeps, principal: Principal, id: string, call: Call): Promise<Model> {
  const { data } = await listModels(deps, principal, call);
  const model = data.find((candidate) => candidate.id === id);
  if (model === undefined)
    throw new GatewayError("not_found", `There is no model "${id.slice(0, 120)}" for this key; GET /v1/models lists them.`);
  return model;
}
