import { GatewayError, type JsonObject } from "@unigate/core";
import { z } from "zod";
import { policyRules } from "../../declared/grammar.ts";
import { deleted, listFields } from "../answers.ts";
import { endpoint } from "../asked.ts";
import { anyQuery, isoTime, text } from "../fields.ts";
import { listOf, wholeNumber } from "../listing.ts";
import { workspaceOf } from "../place.ts";
import { changeableOf, type Thing, thingOf, thingsOf } from "../things.ts";
import { nextRow, write } from "../write.ts";
import { policyAnswer } from "./answers.ts";
import { policyOf } from "./policy.ts";

/** Spec 4.11 sets no most for either number. */
const listQuery = z.strictObject({
  organisation_id: text.optional(),
  workspace_id: text.optional(),
  status: z.enum(["active", "archived"]).optional(),
  type: policyRules.type.optional(),
  unit: z.enum(["rpm", "rph", "rpd", "rpw"]).optional(),
  page_size: wholeNumber(0, 999_999_999),
  current_page: wholeNumber(0, 999_999_999),
});

/** GET /policies/rate-limits: the active ones unless said otherwise. */
export const listPolicies = endpoint(
  { summary: "Rate-limits policies", body: null, query: listQuery, answer: z.object(listFields(policyAnswer)) },
  (asked) => {
    const { workspace_id, status = "active", type, unit } = asked.query;
    const workspaceId = workspace_id === undefined ? null : workspaceOf(asked, workspace_id);
    const policies = thingsOf(asked, "rate_limit_policy").filter(({ row }) => {
      const policy = policyOf(row);
      if (workspaceId !== null && policy.workspace_id !== workspaceId) return false;
      return policy.status === status && (type ?? policy.type) === policy.type && (unit ?? policy.unit) === policy.unit;
    });
    return listOf(policies, asked.query, policyRow);
  },
);

export const getPolicy = endpoint({ summary: "One rate-limits policy", body: null, query: anyQuery, answer: policyAnswer }, (asked) =>
  policyRow(thingOf(asked, "rate_limit_policy", asked.parameters["id"] ?? "")),
);

/** DELETE /policies/rate-limits/{id}: it stays to be read, and counts no more. */
export const archivePolicy = endpoint(
  { summary: "Archive a rate-limits policy: it counts no more", body: null, query: anyQuery, answer: deleted },
  async (asked) => {
    const row = changeableOf(asked, "rate_limit_policy", asked.parameters["id"] ?? "");
    const policy = policyOf(row);
    if (policy.status === "archived") throw new GatewayError("not_found", "There is no such active rate-limits policy.");
    await write(asked.api, [{ put: nextRow(asked, row, { resource: { ...policy, status: "archived" } }) }]);
    return { success: true };
  },
);

function policyRow({ row, source }: Thing): JsonObject {
  const { conditions, ...policy } = policyOf(row);
  return {
    ...policy,
    object: "policy_usage_limits",
    conditions: conditions.map(({ key, value, excludes }) => (excludes ? { key, value, excludes } : { key, value })),
    source,
    created_at: isoTime(row.createdAt),
    last_updated_at: isoTime(row.updatedAt),
  };
}
