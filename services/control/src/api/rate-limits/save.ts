import { GatewayError, newUuid, type RateLimitPolicy } from "@unigate/core";
import { z } from "zod";
import { fittingUnit, policyRules, UNIT_MISFIT, unitFits } from "../../declared/grammar.ts";
import { endpoint } from "../asked.ts";
import { anyQuery, place } from "../fields.ts";
import { workspaceOf } from "../place.ts";
import { invalidField } from "../read-fields.ts";
import { changeableOf } from "../things.ts";
import { newRow, nextRow, write } from "../write.ts";
import { savedPolicyAnswer } from "./answers.ts";
import { policyOf } from "./policy.ts";

const conditions = policyRules.conditions.min(1);
/** Null takes the name away. */
const shown = policyRules.name.nullable();

const newPolicy = fittingUnit(
  z.strictObject({
    ...policyRules,
    ...place,
    name: shown,
    conditions,
    group_by: policyRules.group_by.min(1),
    target: z.literal("llm", "policies for other targets than llm are not available yet").optional(),
  }),
);
const { unit, value, on_store_loss } = policyRules;
const changedPolicy = z.strictObject({ name: shown, conditions, unit, value, on_store_loss }).partial();

/** POST /policies/rate-limits (spec 4.10) */
export const createPolicy = endpoint(
  { summary: "Make a rate-limits policy", body: newPolicy, query: anyQuery, answer: savedPolicyAnswer },
  async (asked) => {
    const { body, organisationId } = asked;
    const workspaceId = workspaceOf(asked, body.workspace_id);
    const id = newUuid(asked.api.clock.now());
    const resource: RateLimitPolicy = {
      id,
      name: body.name ?? null,
      organisation_id: organisationId,
      workspace_id: workspaceId,
      conditions: body.conditions.map(withExcludes),
      group_by: body.group_by,
      type: body.type,
      unit: body.unit ?? null,
      value: body.value,
      status: "active",
      on_store_loss: body.on_store_loss ?? "open",
    };
    const row = newRow(asked, {
      kind: "rate_limit_policy",
      id,
      slug: id,
      organisationId,
      workspaceId,
      resource: { ...resource },
      details: {},
    });
    await write(asked.api, [{ put: row }]);
    return { id, object: "policy_usage_limits" };
  },
);

/** PUT /policies/rate-limits/{id} */
export const updatePolicy = endpoint(
  { summary: "Change a rate-limits policy", body: changedPolicy, query: anyQuery, answer: savedPolicyAnswer },
  async (asked) => {
    const { body } = asked;
    const row = changeableOf(asked, "rate_limit_policy", asked.parameters["id"] ?? "");
    const before = policyOf(row);
    if (before.status === "archived") throw new GatewayError("conflict", "The policy is archived; make a new one.");
    const resource: RateLimitPolicy = {
      ...before,
      name: body.name === undefined ? before.name : body.name,
      conditions: body.conditions?.map(withExcludes) ?? before.conditions,
      unit: body.unit === undefined ? before.unit : body.unit,
      value: body.value ?? before.value,
      on_store_loss: body.on_store_loss ?? before.on_store_loss,
    };
    if (!unitFits(resource)) throw invalidField("unit", UNIT_MISFIT);
    await write(asked.api, [{ put: nextRow(asked, row, { resource: { ...resource } }) }]);
    return { id: row.id, object: "policy_usage_limits" };
  },
);

function withExcludes({
  key: word,
  value: wanted,
  excludes = false,
}: z.infer<typeof conditions>[number]): RateLimitPolicy["conditions"][number] {
  return { key: word, value: wanted, excludes };
}
