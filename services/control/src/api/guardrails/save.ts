import { GatewayError, type GuardrailResource, type JsonObject } from "@unigate/core";
import { z } from "zod";
import { guardrailRules } from "../../declared/grammar.ts";
import { checkFindings, cutCheckSecrets, sealGuardrail } from "../../guardrails.ts";
import type { SavedRow } from "../../saved/types.ts";
import { type Asked, endpoint } from "../asked.ts";
import { requireScope } from "../caller.ts";
import { anyQuery, name, place } from "../fields.ts";
import { newSlug } from "../new-names.ts";
import { workspaceOf } from "../place.ts";
import { invalidField, refuseFindings } from "../read-fields.ts";
import { changeableOf } from "../things.ts";
import { newRow, nextRow, write } from "../write.ts";
import { changedGuardrailAnswer, newGuardrailAnswer } from "./answers.ts";
import { guardrailOf } from "./read.ts";

type Checks = z.infer<typeof newGuardrail>["checks"];

const newGuardrail = z.strictObject({ name, ...guardrailRules, ...place });
const changedGuardrail = z.strictObject({ name, ...guardrailRules }).partial();

/** POST /guardrails */
export const createGuardrail = endpoint(
  { summary: "Make a guardrail", body: newGuardrail, query: anyQuery, answer: newGuardrailAnswer },
  async (asked) => {
    const { name: shown, checks, actions = {} } = asked.body;
    const workspaceId = workspaceOf(asked, asked.body.workspace_id);
    requirePlaceScope(asked, workspaceId, "create");
    const id = newSlug("pg-", shown);
    const base = { id, name: shown, organisation_id: asked.organisationId, workspace_id: workspaceId };
    const saved = savedChecks(asked, base, checks, null);
    const resource: GuardrailResource = { ...base, checks: saved.checks, actions };
    const row = newRow(asked, {
      kind: "guardrail",
      id,
      slug: id,
      organisationId: asked.organisationId,
      workspaceId,
      resource: { ...resource },
      details: { check_names: namesOf(checks) },
      sealed: saved.sealed,
    });
    await write(asked.api, [{ put: row }]);
    return { id, slug: id, version_id: `${id}@1`, object: "guardrail" };
  },
);

/** PUT /guardrails/{id}: checks that are given take the place of all former ones. */
export const updateGuardrail = endpoint(
  { summary: "Change a guardrail", body: changedGuardrail, query: anyQuery, answer: changedGuardrailAnswer },
  async (asked) => {
    const { checks } = asked.body;
    const row = changeableOf(asked, "guardrail", asked.parameters["id"] ?? "");
    requirePlaceScope(asked, row.workspaceId, "update");
    const before = guardrailOf(row);
    const saved = checks === undefined ? { checks: before.checks, sealed: row.sealed } : savedChecks(asked, before, checks, row);
    const resource: GuardrailResource = {
      ...before,
      name: asked.body.name ?? before.name,
      checks: saved.checks,
      actions: asked.body.actions ?? before.actions,
    };
    const details = checks === undefined ? row.details : { ...row.details, check_names: namesOf(checks) };
    const next = nextRow(asked, row, { resource: { ...resource }, details, sealed: saved.sealed });
    await write(asked.api, [{ put: next }]);
    return { id: row.id, slug: row.slug, version_id: `${row.id}@${next.version}` };
  },
);

/** A guardrail of the whole organisation has scopes of its own; those of a workspace's do as well for an organisation key. */
function requirePlaceScope({ caller }: Asked, workspaceId: string | null, verb: string): void {
  if (workspaceId === null && caller.workspaceId !== null) throw new GatewayError("scope_missing");
  requireScope(caller, workspaceId === null ? [`organisation_guardrails.${verb}`, `guardrails.${verb}`] : [`guardrails.${verb}`]);
}

/**
 * Checks that were given, and their secret parameters sealed; a secret that is not given again stays with the same
 * check, as long as that has the same addresses. Throws invalid_request.
 */
function savedChecks(
  { api }: Asked,
  guardrail: Pick<GuardrailResource, "id" | "organisation_id">,
  checks: Checks,
  former: SavedRow | null,
): Pick<GuardrailResource, "checks"> & Pick<SavedRow, "sealed"> {
  refuseFindings(checkFindings(checks, api.checks), "checks");
  const { checks: cut, secrets } = cutCheckSecrets(checks, api.checks);
  const kept: Record<string, string> = {};
  if (former !== null && former.sealed !== null) {
    const before = guardrailOf(former).checks;
    for (const [secretName, secret] of Object.entries(api.sealer.open(former.sealed, former.organisationId, `guardrail/${former.id}`))) {
      const index = Number(/^checks\[(\d+)\]/.exec(secretName)?.[1]);
      const [was, is] = [before[index], cut[index]];
      if (was === undefined || was.id !== is?.id || secretName in secrets) continue;
      refuseMovedSecret(was.parameters, is.parameters, secretName);
      kept[secretName] = secret.reveal();
    }
  }
  return { checks: cut, sealed: sealGuardrail(guardrail, { ...kept, ...secrets }, api.sealer) };
}

/** Who may change a guardrail must not learn its secrets by having them sent to an address of his own. */
function refuseMovedSecret(before: JsonObject, after: JsonObject, secretName: string): void {
  const [check = ""] = secretName.split(".");
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const moved = [...names].find(
    (parameter) => before[parameter] !== after[parameter] && [before, after].some((all) => isUrl(all[parameter])),
  );
  if (moved !== undefined)
    throw invalidField(
      `${check}.parameters.${moved}`,
      `a change of where the stored secret is sent needs it in the same request: give ${secretName.slice(check.length + 1)} again`,
    );
}

function isUrl(value: unknown): boolean {
  return typeof value === "string" && /^https?:/i.test(value.trim());
}

function namesOf(checks: Checks): (string | null)[] {
  return checks.map((check) => check.name ?? null);
}
