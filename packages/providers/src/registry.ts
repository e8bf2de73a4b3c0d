import type { Provider } from "./define.ts";
import { providers as all } from "./registry.generated.ts";

/** The catalogue, by id. */
export const providers: readonly Provider[] = all;

const byName = new Map<string, Provider>();
for (const provider of all) for (const name of [provider.id, ...provider.aliases]) byName.set(name, provider);

/** The provider of an id ("together-ai") or of another name that is understood ("together"); undefined when there is none. */
export function findProvider(idOrAlias: string): Provider | undefined {
  return byName.get(idOrAlias);
}
