import type { GuardrailResource, JsonObject } from "@unigate/core";
import { z } from "zod";
import type { SavedRow } from "../../saved/types.ts";
import { deleted, listFields } from "../answers.ts";
import { endpoint } from "../asked.ts";
import { anyQuery, isoTime, text } from "../fields.ts";
import { listOf, paging } from "../listing.ts";
import { changeableOf, type Thing, thingOf, thingsOf } from "../things.ts";
import { removal, write } from "../write.ts";
import { guardrailAnswer } from "./answers.ts";

const listQuery = z.strictObject({ ...paging, workspace_id: text.optional(), ids: text.optional() });

export const listGuardrails = endpoint(
  { summary: "Guardrails", body: null, query: listQuery, answer: z.object(listFields(guardrailAnswer)) },
  (asked) => {
    const { workspace_id, ids } = asked.query;
    const named = ids === undefined ? null : new Set(ids.split(","));
    const guardrails = thingsOf(asked, "guardrail")
      .filter(({ row }) => workspace_id === undefined || row.workspaceId === workspace_id)
      .filter(({ row }) => named === null || named.has(row.id));
    return listOf(guardrails, asked.query, guardrailRow);
  },
);

export const getGuardrail = endpoint({ summary: "One guardrail", body: null, query: anyQuery, answer: guardrailAnswer }, (asked) =>
  guardrailRow(thingOf(asked, "guardrail", asked.parameters["id"] ?? "")),
);

export const deleteGuardrail = endpoint({ summary: "Delete a guardrail", body: null, query: anyQuery, answer: deleted }, async (asked) => {
  await write(asked.api, [removal(changeableOf(asked, "guardrail", asked.parameters["id"] ?? ""))]);
  return { success: true };
});

/** The resource of a guardrail's row. */
export function guardrailOf({ resource }: SavedRow): GuardrailResource {
  if (resource === null) throw new Error("a saved guardrail has no resource");
  return resource as object as GuardrailResource;
}

function guardrailRow({ row, source }: Thing): JsonObject {
  const { id, name, organisation_id, workspace_id, checks, actions } = guardrailOf(row);
  const names = Array.isArray(row.details["check_names"]) ? row.details["check_names"] : [];
  return {
    id,
    object: "guardrail",
    slug: row.slug,
    name,
    organisation_id,
    workspace_id,
    status: "active",
    version_id: `${id}@${row.version}`,
    checks: checks.map((check, index) => (typeof names[index] === "string" ? { ...check, name: names[index] } : check)),
    actions,
    source,
    created_at: isoTime(row.createdAt),
    last_updated_at: isoTime(row.updatedAt),
  };
}
