import type { Sealed } from "@unigate/contracts";
import { type GuardrailResource, type JsonObject, nearestName } from "@unigate/core";
import type { Sealer } from "@unigate/secrets";
import type { DeclaredGuardrail } from "./declared/grammar.ts";
import { type Finding, quoted } from "./declared/problem.ts";
import type { Draft } from "./item.ts";
import { DEFAULT_ORGANISATION } from "./tenants.ts";

/** What control needs to know of a guardrail check (packages/checks). */
export interface CatalogueCheck {
  readonly external?: { readonly secretParameters: readonly string[] };
  /** Throws an error that names the parameter when the parameters cannot be used. */
  prepare(parameters: JsonObject): unknown;
}

/** The guardrail checks that there are. */
export interface CheckCatalogue {
  readonly ids: readonly string[];
  /** Null = there is none of this id. */
  find(id: string): CatalogueCheck | null;
}

type Checks = DeclaredGuardrail["checks"];

/**
 * Declared guardrails. Their checks' parameters are not looked at here: one that cannot be used is an errored check of
 * each request, and the gateway starts all the same.
 */
export function declaredGuardrails(
  declared: readonly DeclaredGuardrail[],
  catalogue: CheckCatalogue,
  sealer: Pick<Sealer, "seal">,
): readonly Draft[] {
  return declared.map((item) => guardrailDraft(item, catalogue, sealer));
}

function guardrailDraft(item: DeclaredGuardrail, catalogue: CheckCatalogue, sealer: Pick<Sealer, "seal">): Draft {
  const { id, name = id, checks, actions = {}, organisation = DEFAULT_ORGANISATION, workspace } = item;
  return {
    kind: "guardrail",
    id,
    organisationId: organisation,
    workspaceId: workspace ?? null,
    content: [name, checks, actions],
    make() {
      const cut = cutCheckSecrets(checks, catalogue);
      const json: GuardrailResource = {
        id,
        name,
        organisation_id: organisation,
        workspace_id: workspace ?? null,
        checks: cut.checks,
        actions,
      };
      const sealed = sealGuardrail(json, cut.secrets, sealer);
      return sealed === null ? { json } : { json, sealed };
    },
  };
}

/** What is wrong with the checks of a guardrail. Paths are relative to the list: "[0].parameters.words". */
export function checkFindings(checks: Checks, catalogue: CheckCatalogue): Finding[] {
  return checks.flatMap(({ id, parameters = {} }, index): Finding[] => {
    const check = catalogue.find(id);
    if (check === null) {
      const near = nearestName(id, catalogue.ids);
      return [{ path: `[${index}].id`, message: `${quoted(id)} is no known check${near === null ? "" : `; did you mean "${near}"?`}` }];
    }
    try {
      check.prepare(parameters);
      return [];
    } catch (reason) {
      return [{ path: `[${index}].parameters`, message: reason instanceof Error ? reason.message : "expected other parameters" }];
    }
  });
}

/** Checks without their secret parameters, and these by the names that the guardrail service looks for: "checks[0].headers". */
export function cutCheckSecrets(
  checks: Checks,
  catalogue: CheckCatalogue,
): { readonly checks: GuardrailResource["checks"]; readonly secrets: Readonly<Record<string, string>> } {
  const secrets: Record<string, string> = {};
  const cut = checks.map(({ id, parameters = {}, is_enabled = true }, index) => {
    const hidden = catalogue.find(id)?.external?.secretParameters ?? [];
    const open = Object.entries(parameters).filter(([name, value]) => {
      if (!hidden.includes(name)) return true;
      secrets[`checks[${index}].${name}`] = JSON.stringify(value);
      return false;
    });
    return { id, parameters: Object.fromEntries(open), is_enabled };
  });
  return { checks: cut, secrets };
}

/** Secret parameters of checks, sealed for the place where the guardrail service looks for them; null when there are none. */
export function sealGuardrail(
  { organisation_id, id }: Pick<GuardrailResource, "organisation_id" | "id">,
  secrets: Readonly<Record<string, string>>,
  sealer: Pick<Sealer, "seal">,
): Sealed | null {
  return Object.keys(secrets).length === 0 ? null : sealer.seal(secrets, organisation_id, `guardrail/${id}`);
}
