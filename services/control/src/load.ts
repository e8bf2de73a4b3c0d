import { basename } from "node:path";
import type { Sealer } from "@unigate/secrets";
import { type CheckConfig, declaredConfigs } from "./configs.ts";
import type { Environment } from "./declared/env-references.ts";
import type { Declared } from "./declared/grammar.ts";
import { below, type Finding, type Problem } from "./declared/problem.ts";
import { readDeclared } from "./declared/read.ts";
import { type CheckCatalogue, declaredGuardrails } from "./guardrails.ts";
import { type Draft, placeOf } from "./item.ts";
import { declaredKeys } from "./keys.ts";
import { type CatalogueProvider, declaredProviders, environmentProviders } from "./providers.ts";
import { declaredRateLimitPolicies } from "./rate-limits.ts";
import { declaredWorkspaces } from "./tenants.ts";

/** What decides how a declared file is read. */
export interface LoadDeps {
  readonly environment: Environment;
  readonly catalogue: readonly CatalogueProvider[];
  readonly checkConfig: CheckConfig;
  readonly checks: CheckCatalogue;
  readonly sealer: Pick<Sealer, "seal">;
}

export type LoadResult =
  | { readonly ok: true; readonly drafts: readonly Draft[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** All that the environment and the declared file (null = none) say. Declared things win over those of the environment. */
export async function loadDeclared(file: string | null, deps: LoadDeps): Promise<LoadResult> {
  const fromEnvironment = environmentProviders(deps.catalogue, deps.environment, deps.sealer);
  if (file === null) return { ok: true, drafts: fromEnvironment };
  const read = await readDeclared(file, deps.environment);
  if (!read.ok) return read;
  const { drafts, findings } = draftsOf(read.declared, deps);
  if (findings.length > 0) return { ok: false, problems: read.problemsOf(findings) };
  const declared = new Set(drafts.map(placeOf));
  const source = basename(file);
  return {
    ok: true,
    drafts: [...fromEnvironment.filter((draft) => !declared.has(placeOf(draft))), ...drafts.map((draft) => ({ ...draft, source }))],
  };
}

/** Everything wrong with a declared file; empty when it can be used. What `unigate --check-config` prints. */
export async function checkDeclared(file: string, deps: Omit<LoadDeps, "sealer">): Promise<readonly Problem[]> {
  const read = await readDeclared(file, deps.environment);
  if (!read.ok) return read.problems;
  return read.problemsOf(draftsOf(read.declared, { ...deps, sealer: neverSeals }).findings);
}

/** Drafts seal only when they are made into items, which a check never does. */
const neverSeals: Pick<Sealer, "seal"> = {
  seal() {
    throw new Error("a declared file that is only checked is not sealed");
  },
};

function draftsOf(declared: Declared, deps: LoadDeps): { readonly drafts: readonly Draft[]; readonly findings: readonly Finding[] } {
  const { providers = [], configs = [], workspaces = [], keys = [], guardrails = [], policies = {} } = declared;
  const sections = {
    providers: declaredProviders(providers, deps.catalogue, deps.sealer),
    configs: declaredConfigs(configs, deps.checkConfig, deps.sealer),
    workspaces: declaredWorkspaces(workspaces, configs),
    keys: declaredKeys(keys, configs),
    guardrails: { drafts: declaredGuardrails(guardrails, deps.checks, deps.sealer), findings: [] },
    "policies.rate_limits": { drafts: declaredRateLimitPolicies(policies.rate_limits ?? []), findings: [] },
  };
  const found = Object.entries(sections).flatMap(([name, { drafts, findings }]) => [...findings, ...repeated(name, drafts)]);
  return { drafts: Object.values(sections).flatMap(({ drafts }) => drafts), findings: found };
}

/** Things of one section that stand in the same place, or keys that share a hash: the second is a finding. */
function repeated(section: string, drafts: readonly Draft[]): Finding[] {
  const seen = new Map<string, number>();
  return drafts.flatMap((draft, index) => {
    const hash = draft.keyHash?.toString("hex") ?? "";
    const names = [draft.kind === "api_key" ? draft.id : placeOf(draft), ...(hash === "" ? [] : [hash])];
    const first = names.map((name) => seen.get(name)).find((at) => at !== undefined);
    for (const name of names) seen.set(name, index);
    if (first === undefined) return [];
    return [
      { path: below(section, index), message: `the same ${draft.kind === "api_key" ? "name or key" : "name"} as ${below(section, first)}` },
    ];
  });
}
