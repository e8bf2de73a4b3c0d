import type { ProviderResource } from "@unigate/core";
import { newUuid } from "@unigate/core";
import { z } from "zod";
import { slug } from "../../declared/grammar.ts";
import { providerPlace } from "../../providers.ts";
import { endpoint } from "../asked.ts";
import { anyQuery, name, place, text } from "../fields.ts";
import { newSlug } from "../new-names.ts";
import { workspaceOf } from "../place.ts";
import { invalidField } from "../read-fields.ts";
import { changeableOf, refuseDeclared } from "../things.ts";
import { newRow, nextRow, withGiven, write } from "../write.ts";
import { savedVirtualKeyAnswer } from "./answers.ts";
import { connect, type FieldNames } from "./connect.ts";
import { connectionOf, named, virtualKeyFields } from "./fields.ts";
import { providerOf } from "./read.ts";

const newKey = named(z.strictObject({ ...virtualKeyFields, ...place, name, provider: text, slug: slug.optional() }));
const changedKey = named(z.strictObject({ ...virtualKeyFields, name: name.optional() }));

const NAMES: FieldNames = { api_key: "key" };

/** POST /virtual-keys: a provider with a credential of its own. */
export const createVirtualKey = endpoint(
  { summary: "Make a provider with a credential of its own", body: newKey, query: anyQuery, answer: savedVirtualKeyAnswer },
  async (asked) => {
    const { api, body, organisationId } = asked;
    const chosen = body.slug ?? newSlug("", body.name);
    refuseDeclared(asked, "provider", chosen, "slug");
    const workspaceId = workspaceOf(asked, body.workspace_id);
    const base = { slug: chosen, provider: body.provider, organisation_id: organisationId, workspace_id: workspaceId };
    const given = { ...connectionOf(body), ...(body.rate_limits === undefined ? {} : { rate_limits: body.rate_limits }) };
    const { json, sealed } = connect(api, base, given, null, { place: providerPlace(chosen) });
    const row = newRow(asked, {
      kind: "provider",
      id: newUuid(api.clock.now()),
      slug: chosen,
      organisationId,
      workspaceId,
      sealed,
      resource: { ...json },
      details: { name: body.name, note: body.note ?? null },
    });
    await write(api, [{ put: row }]);
    return { success: true, data: { slug: chosen } };
  },
);

/** PUT /virtual-keys/{slug}: without `key` the sealed one stays, as long as it goes where it went. */
export const updateVirtualKey = endpoint(
  { summary: "Change a virtual key", body: changedKey, query: anyQuery, answer: savedVirtualKeyAnswer },
  async (asked) => {
    const { api, body } = asked;
    const row = changeableOf(asked, "provider", asked.parameters["slug"] ?? "");
    const before: ProviderResource = providerOf(row);
    const given = connectionOf(body);
    if (typeof row.details["integration_id"] === "string" && Object.keys(given).length > 0)
      throw invalidField(Object.keys(given)[0] ?? "", "this provider takes it from its integration; change it there");
    const limits = body.rate_limits === undefined ? {} : { rate_limits: body.rate_limits };
    const { json, sealed } = connect(
      api,
      before,
      { ...given, ...limits },
      { json: before, sealed: row.sealed },
      { place: providerPlace(row.slug), names: NAMES },
    );
    const details = withGiven(row.details, { name: body.name, note: body.note });
    await write(api, [{ put: nextRow(asked, row, { resource: { ...json }, sealed, details }) }]);
    return { success: true, data: { slug: row.slug } };
  },
);
