import { CREDENTIAL_FIELDS, newUuid, SETTING_FIELDS } from "@unigate/core";
import { z } from "zod";
import { slug } from "../../declared/grammar.ts";
import type { SavedRow } from "../../saved/types.ts";
import { endpoint } from "../asked.ts";
import { requireScope } from "../caller.ts";
import { anyQuery, name, note, notYet, place, text } from "../fields.ts";
import { newSlug } from "../new-names.ts";
import { workspaceOf } from "../place.ts";
import { connect, type FieldNames, integrationPlace } from "../providers/connect.ts";
import { configurations, connectionOf, credential } from "../providers/fields.ts";
import { providerOf } from "../providers/read.ts";
import { connectionFor, providerOfIntegration } from "../providers/save.ts";
import { changeableOf } from "../things.ts";
import { newRow, nextRow, withGiven, write } from "../write.ts";
import { savedIntegrationAnswer } from "./answers.ts";
import { integrationOf, providersOf, scopesFor } from "./read.ts";

const fields = {
  name,
  key: credential.optional(),
  description: note.optional(),
  configurations: configurations.optional(),
  secret_mappings: notYet("secret references"),
  pricing_adjustments: notYet("pricing adjustments"),
};
const newIntegration = z.strictObject({
  ...fields,
  ...place,
  ai_provider_id: text,
  slug: slug.optional(),
  create_default_provider: z.boolean().optional(),
  default_provider_slug: slug.optional(),
});
const changedIntegration = z.strictObject({ ...fields, name: name.optional() });

const CONFIGURATIONS = [...CREDENTIAL_FIELDS, ...SETTING_FIELDS, "custom_host", "allow_custom_host"];
const NAMES: FieldNames = {
  ...Object.fromEntries(CONFIGURATIONS.map((field) => [field, `configurations.${field}`])),
  provider: "ai_provider_id",
  api_key: "key",
  "": "key",
};

/** POST /integrations, with a provider of its own unless that is not wanted. */
export const createIntegration = endpoint(
  {
    summary: "Make an integration, with a provider of its own unless that is not wanted",
    body: newIntegration,
    query: anyQuery,
    answer: savedIntegrationAnswer,
  },
  async (asked) => {
    const { api, body, organisationId } = asked;
    const workspaceId = workspaceOf(asked, body.workspace_id);
    requireScope(asked.caller, scopesFor({ workspaceId }, "create"));
    const chosen = body.slug ?? newSlug("", body.name);
    const base = { slug: chosen, provider: body.ai_provider_id, organisation_id: organisationId, workspace_id: workspaceId };
    const given = connectionOf({ ...body.configurations, key: body.key });
    const { json, sealed } = connect(api, base, given, null, { place: integrationPlace(chosen), names: NAMES });
    const integration = newRow(asked, {
      kind: "integration",
      id: newUuid(api.clock.now()),
      slug: chosen,
      organisationId,
      workspaceId,
      sealed,
      resource: null,
      details: { name: body.name, description: body.description ?? null, connection: { ...json } },
    });
    const isDefault = true;
    const provider = { slug: body.default_provider_slug ?? chosen, name: body.name, note: null, workspaceId, isDefault };
    const wanted = body.create_default_provider ?? true;
    await write(api, [{ put: integration }, ...(wanted ? [{ put: providerOfIntegration(asked, integration, provider) }] : [])]);
    return { id: integration.id, slug: chosen, object: "integration" };
  },
);

/** PUT /integrations/{slug}: its providers change with it, in one step. Without `key` the sealed one stays. */
export const updateIntegration = endpoint(
  { summary: "Change an integration and its providers", body: changedIntegration, query: anyQuery, answer: savedIntegrationAnswer },
  async (asked) => {
    const { api, body } = asked;
    const row = changeableOf(asked, "integration", asked.parameters["slug"] ?? "");
    requireScope(asked.caller, scopesFor(row, "update"));
    const before = integrationOf(row);
    const given = connectionOf({ ...body.configurations, key: body.key });
    const former = { json: before, sealed: row.sealed };
    const { json, sealed } = connect(api, before, given, former, { place: integrationPlace(row.slug), names: NAMES });
    const details = withGiven({ ...row.details, connection: { ...json } }, { name: body.name, description: body.description });
    const next = nextRow(asked, row, { details, sealed });
    const renew = (provider: SavedRow): SavedRow =>
      nextRow(asked, provider, connectionFor(asked, next, provider.slug, provider.workspaceId, providerOf(provider).rate_limits));
    const providers = Object.keys(given).length === 0 ? [] : providersOf(asked, row).map(renew);
    await write(
      api,
      [next, ...providers].map((put) => ({ put })),
    );
    return { id: row.id, slug: row.slug, object: "integration" };
  },
);
