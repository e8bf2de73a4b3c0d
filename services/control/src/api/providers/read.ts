import type { JsonObject, ProviderResource } from "@unigate/core";
import { z } from "zod";
import type { SavedRow } from "../../saved/types.ts";
import { deleted, listFields } from "../answers.ts";
import { type Endpoint, endpoint } from "../asked.ts";
import { anyQuery, isoTime, text } from "../fields.ts";
import { listOf, paging } from "../listing.ts";
import { changeableOf, type Thing, thingOf, thingsOf } from "../things.ts";
import { removal, write } from "../write.ts";
import { providerAnswer, virtualKeyAnswer } from "./answers.ts";

const listQuery = z.strictObject({ ...paging, workspace_id: text.optional() });

export const listProviders = listAs("Providers", providerAnswer, providerRow);
export const listVirtualKeys = listAs("Virtual keys", virtualKeyAnswer, virtualKeyRow);
export const getProvider = getAs("One provider", providerAnswer, providerRow);
export const getVirtualKey = getAs("One virtual key", virtualKeyAnswer, virtualKeyRow);

/** DELETE /providers/{slug} and /virtual-keys/{slug} */
export const deleteProvider = endpoint({ summary: "Delete a provider", body: null, query: anyQuery, answer: deleted }, async (asked) => {
  await write(asked.api, [removal(changeableOf(asked, "provider", asked.parameters["slug"] ?? ""))]);
  return { success: true };
});

function listAs(summary: string, answer: z.ZodType, shape: (thing: Thing) => JsonObject): Endpoint {
  return endpoint({ summary, body: null, query: listQuery, answer: z.object(listFields(answer)) }, (asked) => {
    const { workspace_id } = asked.query;
    const providers = thingsOf(asked, "provider").filter(({ row }) => workspace_id === undefined || row.workspaceId === workspace_id);
    return listOf(providers, asked.query, shape);
  });
}

function getAs(summary: string, answer: z.ZodType, shape: (thing: Thing) => JsonObject): Endpoint {
  return endpoint({ summary, body: null, query: anyQuery, answer }, (asked) =>
    shape(thingOf(asked, "provider", asked.parameters["slug"] ?? "")),
  );
}

/** The resource of a provider's row. */
export function providerOf({ resource }: SavedRow): ProviderResource {
  if (resource === null) throw new Error("a saved provider has no resource");
  return resource as object as ProviderResource;
}

/** What both views of a provider show. */
function commonRow({ row, source }: Thing): JsonObject {
  const provider = providerOf(row);
  const { name = row.slug, note = null } = row.details;
  return {
    id: row.id,
    slug: row.slug,
    name,
    note,
    status: "active",
    organisation_id: provider.organisation_id,
    workspace_id: provider.workspace_id,
    custom_host: provider.custom_host,
    allow_custom_host: provider.allow_custom_host,
    rate_limits: provider.rate_limits,
    source,
    created_at: isoTime(row.createdAt),
    last_updated_at: isoTime(row.updatedAt),
  };
}

function providerRow(thing: Thing): JsonObject {
  const { provider, settings } = providerOf(thing.row);
  const { integration_id = null } = thing.row.details;
  return { object: "provider", ...commonRow(thing), provider, ai_provider_id: provider, integration_id, configurations: settings };
}

function virtualKeyRow(thing: Thing): JsonObject {
  const { provider, settings } = providerOf(thing.row);
  return { object: "virtual-key", ...commonRow(thing), provider, model_config: settings };
}
