import type { Sealed } from "@unigate/contracts";
import type { GuardrailResource, JsonObject, Secret } from "@unigate/core";
import type { Sealer } from "@unigate/secrets";

const NAME = /^checks\[(?<index>\d+)\]\.(?<parameter>.+)$/;

/**
 * The checks of a saved guardrail with their secret parameters in place, as `Secret`. They are sealed for
 * "guardrail/<id>" under names such as "checks[0].headers", each the JSON of the parameter. Throws SecretError.
 */
export function savedChecks(saved: GuardrailResource, sealed: Sealed | undefined, sealer: Pick<Sealer, "open">): readonly JsonObject[] {
  if (sealed === undefined) return saved.checks;
  const checks = saved.checks.map((check) => ({ ...check, parameters: { ...check.parameters } }));
  const secrets: [string, Secret][] = Object.entries(sealer.open(sealed, saved.organisation_id, `guardrail/${saved.id}`));
  for (const [name, secret] of secrets) {
    const { index, parameter } = NAME.exec(name)?.groups ?? {};
    const check = checks[Number(index)];
    if (check !== undefined && parameter !== undefined) check.parameters[parameter] = secret;
  }
  return checks;
}
