import { type ConfigProblem, type ConfigResource, cutCredentials, isObject, type JsonObject, renameAliases } from "@unigate/core";
import { type Sealer, sealedToText } from "@unigate/secrets";
import type { DeclaredConfig } from "./declared/grammar.ts";
import type { Finding } from "./declared/problem.ts";
import type { Draft } from "./item.ts";
import { DEFAULT_ORGANISATION } from "./tenants.ts";

/** Checks a config whose aliases are renamed and whose credentials are sealed. Paths are relative to it. */
export type CheckConfig = (config: unknown) => readonly ConfigProblem[];

/** Stands for sealed credentials while a config is only checked. */
const PLACEHOLDER = { sealed_credentials: "sealed" };

/** Declared configs and what is wrong with them. */
export function declaredConfigs(
  declared: readonly DeclaredConfig[],
  check: CheckConfig,
  sealer: Pick<Sealer, "seal">,
): { readonly drafts: readonly Draft[]; readonly findings: readonly Finding[] } {
  const findings = declared.flatMap(({ config }, index) => {
    const path = `configs[${index}].config`;
    if (holdsSealed(config)) return [{ path, message: "sealed_credentials is the gateway's own field; expected the credential itself" }];
    const { config: cut } = cutCredentials(renameAliases(config), () => PLACEHOLDER);
    return check(cut).map((problem) => ({ path: joined(path, problem.path), message: problem.message }));
  });
  return { drafts: declared.map((item) => configDraft(item, sealer)), findings };
}

function configDraft(
  { id, name = id, config, organisation = DEFAULT_ORGANISATION, workspace }: DeclaredConfig,
  sealer: Pick<Sealer, "seal">,
): Draft {
  const named = renameAliases(config);
  return {
    kind: "config",
    id,
    organisationId: organisation,
    workspaceId: workspace ?? null,
    content: [name, named],
    make(version) {
      const { config: cut } = cutCredentials(named, (optionPath, credentials) => ({
        sealed_credentials: sealedToText(sealer.seal(credentials, organisation, `${id}/${optionPath}`)),
      }));
      const json: ConfigResource = {
        id,
        name,
        version,
        organisation_id: organisation,
        workspace_id: workspace ?? null,
        config: cut as JsonObject,
      };
      return { json };
    },
  };
}

/** Whether a config, or a target in it, brings sealed credentials of its own. */
function holdsSealed(config: unknown, depth = 0): boolean {
  if (!isObject(config) || depth > 50) return false;
  const { targets } = config;
  return "sealed_credentials" in config || (Array.isArray(targets) && targets.some((target) => holdsSealed(target, depth + 1)));
}

function joined(path: string, inner: string): string {
  if (inner === "") return path;
  return inner.startsWith("[") ? path + inner : `${path}.${inner}`;
}
