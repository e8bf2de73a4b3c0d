import type { GuardrailResource } from "@unigate/core";
import type { DeclaredGuardrail } from "./declared/grammar.ts";
import type { Draft } from "./item.ts";
import { DEFAULT_ORGANISATION } from "./tenants.ts";

/** Declared guardrails. What their checks' parameters may be is the guardrail service's to say. */
export function declaredGuardrails(declared: readonly DeclaredGuardrail[]): Draft[] {
  return declared.map(({ id, name = id, checks, actions = {}, organisation = DEFAULT_ORGANISATION, workspace }) => {
    const json: GuardrailResource = {
      id,
      name,
      organisation_id: organisation,
      workspace_id: workspace ?? null,
      checks: checks.map((check) => ({ id: check.id, parameters: check.parameters ?? {}, is_enabled: check.is_enabled ?? true })),
      actions,
    };
    return { kind: "guardrail", id, organisationId: organisation, workspaceId: workspace ?? null, content: json, make: () => ({ json }) };
  });
}
