import { GatewayError, type JsonObject } from "@unigate/core";
import { z } from "zod";
import type { SavedKind, SavedRow } from "../saved/types.ts";
import { DEFAULT_WORKSPACE, type OrganisationResource } from "../tenants.ts";
import { deleted, listFields } from "./answers.ts";
import { type Asked, endpoint } from "./asked.ts";
import { isoTime, name, note } from "./fields.ts";
import { listOf, paging } from "./listing.ts";
import { newSlug } from "./new-names.ts";
import { HOME_OF_ORGANISATIONS } from "./place.ts";
import { changedOrganisationAnswer, newOrganisationAnswer, organisationAnswer } from "./tenant-answers.ts";
import { type Thing, thingsOf } from "./things.ts";
import { newRow, nextRow, removal, withGiven, write } from "./write.ts";

const noQuery = z.strictObject({});
const newOrganisation = z.strictObject({ name, description: note.optional() });
const changedOrganisation = newOrganisation.partial();
const listQuery = z.strictObject({ current_page: paging.current_page, page_size: paging.page_size });

/** Whatever else an organisation may have. */
const KINDS: readonly SavedKind[] = ["workspace", "api_key", "integration", "provider", "config", "guardrail", "rate_limit_policy"];

/** POST /admin/organisations: with a workspace "ws-default", as every organisation. */
export const createOrganisation = endpoint(
  { summary: "Make an organisation", body: newOrganisation, query: noQuery, answer: newOrganisationAnswer },
  async (asked) => {
    const id = newSlug("org-", asked.body.name);
    const resource: OrganisationResource = { id, name: asked.body.name, default_workspace_id: DEFAULT_WORKSPACE };
    const row = newRow(asked, {
      kind: "organisation",
      id,
      slug: id,
      organisationId: HOME_OF_ORGANISATIONS,
      workspaceId: null,
      resource: { ...resource },
      details: { description: asked.body.description ?? null },
    });
    await write(asked.api, [{ put: row }]);
    return { id, object: "organisation", default_workspace_id: DEFAULT_WORKSPACE };
  },
);

export const listOrganisations = endpoint(
  { summary: "All organisations", body: null, query: listQuery, answer: z.object(listFields(organisationAnswer)) },
  (asked) => listOf(everyOrganisation(asked), asked.query, organisationRow),
);

export const getOrganisation = endpoint({ summary: "One organisation", body: null, query: noQuery, answer: organisationAnswer }, (asked) =>
  organisationRow(organisationAsked(asked)),
);

export const updateOrganisation = endpoint(
  { summary: "Change an organisation", body: changedOrganisation, query: noQuery, answer: changedOrganisationAnswer },
  async (asked) => {
    const row = changeable(asked);
    const { name: shown, description } = asked.body;
    const resource = withGiven(row.resource ?? {}, { name: shown });
    await write(asked.api, [{ put: nextRow(asked, row, { resource, details: withGiven(row.details, { description }) }) }]);
    return { id: row.id, object: "organisation" };
  },
);

/** DELETE /admin/organisations/{id}: only when it is empty. */
export const deleteOrganisation = endpoint(
  { summary: "Delete an empty organisation", body: null, query: noQuery, answer: deleted },
  async (asked) => {
    const row = changeable(asked);
    const left = KINDS.find((kind) => asked.api.saved.list(kind, row.id).length > 0);
    if (left !== undefined)
      throw new GatewayError("conflict", `The organisation still has things of kind ${left.replaceAll("_", " ")}; delete them first.`);
    await write(asked.api, [removal(row)]);
    return { success: true };
  },
);

/** Organisations are asked about one by one: each declared one is its own, the saved ones stand at home. */
function everyOrganisation({ api, caller }: Pick<Asked, "api" | "caller">): Thing[] {
  const declared = api.snapshot().items.filter(({ kind }) => kind === "organisation");
  const own = declared.flatMap(({ id }) =>
    thingsOf({ api, caller, organisationId: id }, "organisation").filter(({ row }) => row.id === id),
  );
  const known = new Set(own.map(({ row }) => row.id));
  const saved = api.saved.list("organisation", HOME_OF_ORGANISATIONS).filter(({ id }) => !known.has(id));
  return [...own, ...saved.map((row) => ({ row, source: null }))];
}

function organisationAsked(asked: Pick<Asked, "api" | "caller" | "parameters">): Thing {
  const found = everyOrganisation(asked).find(({ row }) => row.id === asked.parameters["id"]);
  if (found === undefined) throw new GatewayError("not_found", "There is no such organisation.");
  return found;
}

function changeable(asked: Pick<Asked, "api" | "caller" | "parameters">): SavedRow {
  const { row, source } = organisationAsked(asked);
  if (source !== null) throw new GatewayError("conflict", `This organisation comes from ${source} and cannot be changed here.`);
  return row;
}

function organisationRow({ row, source }: Thing): JsonObject {
  const { name: shown, default_workspace_id } = row.resource ?? {};
  const { description = null } = row.details;
  return {
    id: row.id,
    object: "organisation",
    name: shown,
    description,
    default_workspace_id,
    source,
    created_at: isoTime(row.createdAt),
    last_updated_at: isoTime(row.updatedAt),
  };
}
