import { type CompiledLeaf, emptyUsage, type ProviderResource } from "@unigate/core";
import { findProvider } from "@unigate/providers";
import type { Run } from "../run-state.ts";
import { slugOfModel } from "./resolve-target.ts";

/** A million tokens, as requests of the field are on average: three of the prompt to one of the answer. */
const MILLION = { ...emptyUsage(), input: 750_000, outputText: 250_000 };

/** Fetches the saved providers that a price depends on; what cannot be had has no known price. */
export async function learnPrices(run: Run): Promise<void> {
  const { resolver } = run.deps;
  const waiting: Promise<unknown>[] = [];
  for (const { destination } of run.config.compiled.leaves) {
    if (destination.kind !== "slug") continue;
    const ref = providerRef(run, destination.slug);
    if (resolver.peek<ProviderResource>(ref) === null) waiting.push(resolver.resolve<ProviderResource>(ref, run.call).catch(() => null));
  }
  if (waiting.length > 0) await Promise.all(waiting);
}

/** What a million tokens of the target's model cost by the list prices, micro-USD; null = not known. */
export function leafPrice(run: Run, leaf: CompiledLeaf): number | null {
  const provider = providerOf(run, leaf);
  const model = modelOf(run, leaf);
  if (provider === null || model === null) return null;
  return run.deps.prices.costOf({ provider, model, responseModel: null, usage: MILLION, time: run.deps.clock.now() });
}

function providerOf(run: Run, { destination }: CompiledLeaf): string | null {
  if (destination.kind === "provider") return findProvider(destination.provider)?.id ?? null;
  if (destination.kind !== "slug") return null;
  return run.deps.resolver.peek<ProviderResource>(providerRef(run, destination.slug))?.value.provider ?? null;
}

/** The model that the target will be asked for. */
function modelOf(run: Run, { overrideParams, defaultParams }: CompiledLeaf): string | null {
  const model = overrideParams?.["model"] ?? run.request.json?.["model"] ?? defaultParams?.["model"];
  if (typeof model !== "string") return null;
  const slug = slugOfModel(model);
  return slug === null ? model : model.slice(slug.length + 2);
}

function providerRef(run: Run, id: string) {
  return { kind: "provider", id, tenant: run.request.principal.tenant } as const;
}
