import type { PricedProvider } from "./prices.ts";

/** How the price list is asked for one of its providers. */
type FindListed = (options: { providerId?: string; providerApiUrl?: string }) => { readonly id: string } | undefined;

/** Providers without one address of their own, by the price list's word. */
const WITHOUT_ADDRESS: Readonly<Record<string, string>> = {
  "azure-openai": "azure",
  "azure-ai": "azure",
  bedrock: "aws",
  "vertex-ai": "google",
  "workers-ai": "cloudflare",
};

/**
 * The price list's own identifiers by those of the catalogue. A provider is recognised by its address, so that a new one
 * needs no line here. One that the list does not know is left out.
 */
export function priceListIds(catalogue: readonly PricedProvider[], find: FindListed): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  for (const { id, baseUrl } of catalogue) {
    const listed = WITHOUT_ADDRESS[id] ?? (baseUrl === null ? undefined : find({ providerApiUrl: baseUrl })?.id);
    if (listed !== undefined) ids.set(id, listed);
  }
  return ids;
}
