import { GatewayError, type JsonObject, type ProviderResource } from "@unigate/core";
import { z } from "zod";
import type { SavedRow } from "../../saved/types.ts";
import { deleted, listFields } from "../answers.ts";
import { type Asked, endpoint } from "../asked.ts";
import { holdsScope, requireScope } from "../caller.ts";
import { anyQuery, isoTime, text } from "../fields.ts";
import { listOf, paging } from "../listing.ts";
import { changeableOf, type Thing, thingOf, thingsOf } from "../things.ts";
import { removal, write } from "../write.ts";
import { integrationAnswer } from "./answers.ts";

const listQuery = z.strictObject({ ...paging, workspace_id: text.optional() });

export const listIntegrations = endpoint(
  { summary: "Integrations", body: null, query: listQuery, answer: z.object(listFields(integrationAnswer)) },
  (asked) => {
    const { workspace_id } = asked.query;
    const integrations = thingsOf(asked, "integration")
      .filter(({ row }) => scopesFor(row, "list").some((scope) => holdsScope(asked.caller, scope)))
      .filter(({ row }) => workspace_id === undefined || row.workspaceId === workspace_id);
    return listOf(integrations, asked.query, integrationRow);
  },
);

export const getIntegration = endpoint({ summary: "One integration", body: null, query: anyQuery, answer: integrationAnswer }, (asked) => {
  const thing = thingOf(asked, "integration", asked.parameters["slug"] ?? "");
  requireScope(asked.caller, scopesFor(thing.row, "read"));
  return integrationRow(thing);
});

/** DELETE /integrations/{slug}: its default provider goes with it; others must be gone before. */
export const deleteIntegration = endpoint(
  { summary: "Delete an integration with its default provider", body: null, query: anyQuery, answer: deleted },
  async (asked) => {
    const row = changeableOf(asked, "integration", asked.parameters["slug"] ?? "");
    requireScope(asked.caller, scopesFor(row, "delete"));
    const providers = providersOf(asked, row);
    const other = providers.find(({ details }) => details["is_default"] !== true);
    if (other !== undefined) throw new GatewayError("conflict", `The provider "${other.slug}" uses this integration; delete it first.`);
    await write(asked.api, [...providers.map(removal), removal(row)]);
    return { success: true };
  },
);

/** The providers whose credential is that of an integration, whoever may see them. */
export function providersOf({ api }: Pick<Asked, "api">, { id, organisationId }: SavedRow): SavedRow[] {
  return api.saved.list("provider", organisationId).filter(({ details }) => details["integration_id"] === id);
}

/** A workspace's integrations have scopes of their own; those of the organisation's do as well. */
export function scopesFor({ workspaceId }: Pick<SavedRow, "workspaceId">, verb: string): string[] {
  const organisation = `organisation_integrations.${verb}`;
  return workspaceId === null ? [organisation] : [organisation, `workspace_integrations.${verb}`];
}

/** What providers of an integration are made of. It is no resource: no request sees it. */
export function integrationOf({ details }: SavedRow): ProviderResource {
  return details["connection"] as ProviderResource;
}

function integrationRow({ row, source }: Thing): JsonObject {
  const { provider, settings, custom_host, allow_custom_host } = integrationOf(row);
  const { name = row.slug, description = null } = row.details;
  return {
    id: row.id,
    object: "integration",
    slug: row.slug,
    name,
    description,
    ai_provider_id: provider,
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    status: "active",
    configurations: { ...settings, ...(custom_host === null ? {} : { custom_host }), allow_custom_host },
    source,
    created_at: isoTime(row.createdAt),
    last_updated_at: isoTime(row.updatedAt),
  };
}
