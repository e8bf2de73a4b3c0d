import { type ConfigProblem, type ConfigResource, cutCredentials, isObject, type JsonObject, renameAliases } from "@unigate/core";
import { type Sealer, sealedToText } from "@unigate/secrets";
import type { DeclaredConfig } from "./declared/grammar.ts";
import { type Finding, under } from "./declared/problem.ts";
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
  const findings = declared.flatMap(({ config }, index) =>
    configFindings(config, check).map((finding) => under(`configs[${index}].config`, finding)),
  );
  return { drafts: declared.map((item) => configDraft(item, sealer)), findings };
}

/** What is wrong with a config that is to be saved. Paths are relative to it. */
export function configFindings(config: unknown, check: CheckConfig): Finding[] {
  if (holdsSealed(config)) return [{ path: "", message: "sealed_credentials is the gateway's own field; expected the credential itself" }];
  const { config: cut } = cutCredentials(renameAliases(config), () => PLACEHOLDER);
  return check(cut).map(({ path, message }) => ({ path, message }));
}

/** A config whose credentials are sealed, each for its own place in it. */
export function sealConfig(config: unknown, organisationId: string, id: string, sealer: Pick<Sealer, "seal">): JsonObject {
  const { config: cut } = cutCredentials(renameAliases(config), (optionPath, credentials) => ({
    sealed_credentials: sealedToText(sealer.seal(credentials, organisationId, `${id}/${optionPath}`)),
  }));
  return cut as JsonObject;
}

function configDraft(
  { id, name = id, config, organisation = DEFAULT_ORGANISATION, workspace }: DeclaredConfig,
  sealer: Pick<Sealer, "seal">,
): Draft {
  return {
    kind: "config",
    id,
    organisationId: organisation,
    workspaceId: workspace ?? null,
    content: [name, renameAliases(config)],
    make(version) {
      const json: ConfigResource = {
        id,
        name,
        version,
        organisation_id: organisation,
        workspace_id: workspace ?? null,
        config: sealConfig(config, organisation, id, sealer),
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
