import type { PlanRequest } from "@unigate/contracts";
import { type CompiledConfig, type CompiledLeaf, compileConfig, jsonOf } from "@unigate/core";
import { LRUCache } from "lru-cache";

/** Compiled configs kept, by organisation and content hash. */
const MAX_COMPILED = 5_000;

interface Known {
  readonly config: CompiledConfig;
  /** By option path, once somebody asked. */
  leaves: ReadonlyMap<string, CompiledLeaf> | null;
}

/** The configs that were planned here lately. */
export interface CompiledConfigs {
  /** Null = of a config that was not, or no target of it. */
  leafAt(organisationId: string, hash: Buffer, optionPath: string): CompiledLeaf | null;
  isMeasured(organisationId: string, hash: Buffer): boolean;
  /** Null = the request has to bring the config. Else the config, or why it cannot be compiled. */
  of(request: PlanRequest): CompiledConfig | string | null;
}

export function createCompiledConfigs(): CompiledConfigs {
  const compiled = new LRUCache<string, Known>({ max: MAX_COMPILED });
  return {
    leafAt(organisationId, hash, optionPath) {
      const known = compiled.get(keyOf(organisationId, hash));
      if (known === undefined) return null;
      known.leaves ??= new Map(known.config.leaves.map((leaf) => [leaf.optionPath, leaf]));
      return known.leaves.get(optionPath) ?? null;
    },
    isMeasured: (organisationId, hash) => compiled.peek(keyOf(organisationId, hash))?.config.isMeasured ?? false,
    of(request) {
      const key = keyOf(request.tenant?.organisationId ?? "", request.configHash);
      const known = compiled.get(key);
      if (known !== undefined) return known.config;
      if (request.configJson.length === 0) return null;
      const result = compileConfig(jsonOf(request.configJson), "inline");
      if (!result.ok) return result.problems.map(({ path, message }) => `${path}: ${message}`).join("; ");
      compiled.set(key, { config: result.config, leaves: null });
      return result.config;
    },
  };
}

function keyOf(organisationId: string, hash: Buffer): string {
  return `${organisationId}/${hash.toString("hex")}`;
}
