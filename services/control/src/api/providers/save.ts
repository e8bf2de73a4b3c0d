import { newUuid, type ProviderResource } from "@unigate/core";
import { z } from "zod";
import { rateLimits, slug } from "../../declared/grammar.ts";
import { providerPlace } from "../../providers.ts";
import { rateLimitsOf } from "../../rate-limits.ts";
import type { SavedRow } from "../../saved/types.ts";
import { mayUse, workspaceAccessOf } from "../../workspace-access.ts";
import { type Asked, endpoint } from "../asked.ts";
import { anyQuery, name, note, notYet, place, text } from "../fields.ts";
import { modelAccessOf } from "../integrations/model-rules.ts";
import { integrationOf } from "../integrations/read.ts";
import { newSlug } from "../new-names.ts";
import { workspaceOf } from "../place.ts";
import { invalidField } from "../read-fields.ts";
import { changeableOf, refuseDeclared, thingOf } from "../things.ts";
import { newRow, nextRow, withGiven, write } from "../write.ts";
import { savedProviderAnswer } from "./answers.ts";
import { integrationPlace, openFor } from "./connect.ts";
import { providerOf } from "./read.ts";

const fields = {
  name,
  note: note.optional(),
  rate_limits: rateLimits,
  usage_limits: notYet("usage limits"),
  expires_at: notYet("expiry dates of providers"),
};
const newProvider = z.strictObject({ ...fields, ...place, integration_id: text, slug: slug.optional() });
const changedProvider = z.strictObject({ ...fields, name: name.optional(), reset_usage: notYet("usage limits") });

/** POST /providers: what a workspace's requests name, with the credential of an integration. */
export const createProvider = endpoint(
  { summary: "Make a provider of an integration", body: newProvider, query: anyQuery, answer: savedProviderAnswer },
  async (asked) => {
    const { api, body } = asked;
    const { row: integration } = thingOf(asked, "integration", body.integration_id);
    const chosen = body.slug ?? newSlug("", body.name);
    const workspaceId = workspaceOf(asked, body.workspace_id ?? integration.workspaceId);
    const row = providerOfIntegration(asked, integration, {
      slug: chosen,
      name: body.name,
      note: body.note ?? null,
      workspaceId,
      isDefault: false,
    });
    const resource = body.rate_limits === undefined ? row.resource : { ...row.resource, rate_limits: rateLimitsOf(body.rate_limits) };
    // The integration is written as it is, so that a change of its credential at the same moment is noticed.
    await write(api, [{ put: { ...row, resource } }, { put: nextRow(asked, integration, {}) }]);
    return { id: row.id, slug: chosen, object: "provider" };
  },
);

/** PUT /providers/{slug} */
export const updateProvider = endpoint(
  { summary: "Change a provider of an integration", body: changedProvider, query: anyQuery, answer: savedProviderAnswer },
  async (asked) => {
    const { name: shown, note: said, rate_limits } = asked.body;
    const row = changeableOf(asked, "provider", asked.parameters["slug"] ?? "");
    const before = providerOf(row);
    const resource: ProviderResource = {
      ...before,
      rate_limits: rate_limits === undefined ? before.rate_limits : rateLimitsOf(rate_limits),
    };
    const details = withGiven(row.details, { name: shown, note: said });
    await write(asked.api, [{ put: nextRow(asked, row, { resource: { ...resource }, details }) }]);
    return { id: row.id, slug: row.slug, object: "provider" };
  },
);

/** The first row of a provider of an integration. */
export function providerOfIntegration(
  asked: Pick<Asked, "api" | "caller" | "organisationId">,
  integration: SavedRow,
  { slug: chosen, name: shown, note: said, workspaceId, isDefault }: NewProvider,
): SavedRow {
  refuseDeclared(asked, "provider", chosen, "slug");
  const access = workspaceAccessOf(integration);
  if (workspaceId !== null && !mayUse(access, workspaceId))
    throw invalidField("workspace_id", `the workspace has no access to the integration "${integration.slug}"`);
  return newRow(asked, {
    kind: "provider",
    id: newUuid(asked.api.clock.now()),
    slug: chosen,
    organisationId: integration.organisationId,
    workspaceId,
    ...connectionFor(asked, integration, chosen, workspaceId, []),
    details: {
      name: shown,
      note: said,
      integration_id: integration.id,
      is_default: isDefault,
      ...(access === undefined ? {} : { workspace_access: { ...access } }),
    },
  });
}

interface NewProvider {
  readonly slug: string;
  readonly name: string;
  readonly note: string | null;
  readonly workspaceId: string | null;
  readonly isDefault: boolean;
}

/** What a provider takes from its integration, its credential sealed for the provider. */
export function connectionFor(
  { api }: Pick<Asked, "api">,
  integration: SavedRow,
  chosen: string,
  workspaceId: string | null,
  limits: ProviderResource["rate_limits"],
): Pick<SavedRow, "resource" | "sealed"> {
  const { organisationId, sealed } = integration;
  const access = modelAccessOf(integration);
  const rule = access === null ? {} : { model_access: access };
  const json: ProviderResource = { ...integrationOf(integration), ...rule, slug: chosen, workspace_id: workspaceId, rate_limits: limits };
  const credentials = openFor(api.sealer, sealed, organisationId, integrationPlace(integration.slug));
  const isKeyless = Object.keys(credentials).length === 0;
  return { resource: { ...json }, sealed: isKeyless ? null : api.sealer.seal(credentials, organisationId, providerPlace(chosen)) };
}
