import { type CompiledLeaf, emptyUsage, type ProviderResource } from "@unigate/core";
import { findProvider } from "@unigate/providers";
import type { Run } from "../run-state.ts";
import { slugOfModel } from "./resolve-target.ts";

/** A million tokens, as requests of the field are on average: three of the prompt to one of the answer. */
const MILLION = { ...emptyUsage(), input: 750_000, outputText: 250_000 };

/** What a million tokens cost at each target by the list prices, micro-USD, by the number of its leaf. */
export type LeafPrices = ReadonlyMap<number, number>;

export const NO_PRICES: LeafPrices = new Map();

/** The prices that planning compares; a target whose price is not known, or whose provider cannot be had, is left out. */
export async function leafPrices(run: Run): Promise<LeafPrices> {
  const { config, deps } = run;
  const found = new Map<number, number>();
  for (const leaf of config.compiled.leaves) {
    const model = modelOf(run, leaf);
    const provider = model === null ? null : await providerOf(run, leaf);
    if (provider === null) continue;
    const price = deps.prices.costOf({ provider, model, responseModel: null, usage: MILLION, time: deps.clock.now() });
    if (price !== null) found.set(leaf.index, price);
  }
  return found;
}

async function providerOf(run: Run, { destination }: CompiledLeaf): Promise<string | null> {
  if (destination.kind === "provider") return findProvider(destination.provider)?.id ?? null;
  if (destination.kind !== "slug") return null;
  const { resolver } = run.deps;
  const ref = { kind: "provider", id: destination.slug, tenant: run.request.principal.tenant } as const;
  try {
    const found = resolver.peek<ProviderResource>(ref) ?? (await resolver.resolve<ProviderResource>(ref, run.call));
    return found?.value.provider ?? null;
  } catch {
    return null;
  }
}

/** The model that the target will be asked for. */
function modelOf(run: Run, { overrideParams, defaultParams }: CompiledLeaf): string | null {
  const model = overrideParams?.["model"] ?? run.request.json?.["model"] ?? defaultParams?.["model"];
  if (typeof model !== "string") return null;
  const slug = slugOfModel(model);
  return slug === null ? model : model.slice(slug.length + 2);
}
