import { GatewayError, type JsonObject, type WorkspaceResource } from "@unigate/core";
import { z } from "zod";
import type { SavedKind, SavedRow } from "../saved/types.ts";
import { DEFAULT_WORKSPACE, emptyWorkspace } from "../tenants.ts";
import { deleted, listFields } from "./answers.ts";
import { requireConfig, requireOrganisationKey } from "./api-keys/key-rights.ts";
import { type Asked, endpoint } from "./asked.ts";
import { anyQuery, isoTime, name, note, notYet, text } from "./fields.ts";
import { listOf, paging } from "./listing.ts";
import { newSlug } from "./new-names.ts";
import { savedWorkspaceAnswer, workspaceAnswer } from "./tenant-answers.ts";
import { changeableOf, type Thing, thingOf, thingsOf } from "./things.ts";
import { newRow, nextRow, removal, withGiven, write } from "./write.ts";

const fields = {
  name,
  description: note.optional(),
  defaults: z.strictObject({ config_id: text.nullable().optional(), metadata: z.record(z.string(), z.string()).optional() }).optional(),
  users: notYet("users"),
  usage_limits: notYet("usage limits of workspaces"),
  rate_limits: notYet("rate limits of workspaces"),
};
const newWorkspace = z.strictObject({ ...fields, organisation_id: text.optional() });
const changedWorkspace = z.strictObject(fields).partial();
const listQuery = z.strictObject({ ...paging, status: z.string().optional(), name: text.optional(), exact_name: text.optional() });

/** Whatever a workspace may have. */
const KINDS: readonly SavedKind[] = ["api_key", "integration", "provider", "config", "guardrail", "rate_limit_policy"];

/** POST /workspaces */
export const createWorkspace = endpoint(
  { summary: "Make a workspace", body: newWorkspace, query: anyQuery, answer: savedWorkspaceAnswer },
  async (asked) => {
    requireOrganisationKey(asked);
    const { organisationId, body } = asked;
    const id = newSlug("ws-", body.name);
    const resource: WorkspaceResource = {
      id,
      name: body.name,
      organisation_id: organisationId,
      defaults: { config_id: body.defaults?.config_id ?? null, metadata: body.defaults?.metadata ?? {} },
    };
    requireConfig(asked, resource.defaults.config_id, id, "workspace");
    const row = newRow(asked, {
      kind: "workspace",
      id,
      slug: id,
      organisationId,
      workspaceId: null,
      resource: { ...resource },
      details: { description: body.description ?? null },
    });
    await write(asked.api, [{ put: row }]);
    return { id, slug: id, object: "workspace" };
  },
);

export const listWorkspaces = endpoint(
  { summary: "Workspaces", body: null, query: listQuery, answer: z.object(listFields(workspaceAnswer)) },
  (asked) => {
    const { status = "active", name: part, exact_name } = asked.query;
    const workspaces = everyWorkspace(asked)
      .filter(() => status.split(",").includes("active"))
      .map((thing) => ({ thing, shown: String(thing.row.resource?.["name"]) }))
      .filter(({ shown }) => exact_name === undefined || shown === exact_name)
      .filter(({ shown }) => part === undefined || shown.toLowerCase().includes(part.toLowerCase()));
    return listOf(workspaces, asked.query, ({ thing }) => workspaceRow(thing));
  },
);

export const getWorkspace = endpoint({ summary: "One workspace", body: null, query: anyQuery, answer: workspaceAnswer }, (asked) => {
  const found = everyWorkspace(asked).find(({ row }) => row.id === asked.parameters["id"]);
  return workspaceRow(found ?? thingOf(asked, "workspace", asked.parameters["id"] ?? ""));
});

/** PUT /workspaces/{id} */
export const updateWorkspace = endpoint(
  { summary: "Change a workspace", body: changedWorkspace, query: anyQuery, answer: savedWorkspaceAnswer },
  async (asked) => {
    const row = changeable(asked);
    const { name: shown, description, defaults } = asked.body;
    const before = row.resource as object as WorkspaceResource;
    const resource: WorkspaceResource = {
      ...before,
      name: shown ?? before.name,
      defaults: {
        config_id: defaults?.config_id === undefined ? before.defaults.config_id : defaults.config_id,
        metadata: defaults?.metadata ?? before.defaults.metadata,
      },
    };
    if (defaults?.config_id !== undefined) requireConfig(asked, defaults.config_id, row.id, "workspace");
    const details = withGiven(row.details, { description });
    await write(asked.api, [{ put: nextRow(asked, row, { resource: { ...resource }, details }) }]);
    return { id: row.id, slug: row.slug, object: "workspace" };
  },
);

/** DELETE /workspaces/{id}: only when it is empty. */
export const deleteWorkspace = endpoint(
  { summary: "Delete an empty workspace", body: null, query: anyQuery, answer: deleted },
  async (asked) => {
    requireOrganisationKey(asked);
    const row = changeable(asked);
    const left = KINDS.find((kind) => asked.api.saved.list(kind, row.organisationId).some(({ workspaceId }) => workspaceId === row.id));
    if (left !== undefined)
      throw new GatewayError("conflict", `The workspace still has things of kind ${left.replaceAll("_", " ")}; delete them first.`);
    await write(asked.api, [removal(row)]);
    return { success: true };
  },
);

/** The workspaces that the caller sees; each organisation has a default one, whether anything says so or not. */
export function everyWorkspace(asked: Asked): Thing[] {
  const found = thingsOf(asked, "workspace");
  const { caller, organisationId } = asked;
  const hasDefault = found.some(({ row }) => row.id === DEFAULT_WORKSPACE);
  if (hasDefault || (caller.workspaceId !== null && caller.workspaceId !== DEFAULT_WORKSPACE)) return found;
  const resource = emptyWorkspace(organisationId, DEFAULT_WORKSPACE);
  const row: SavedRow = {
    kind: "workspace",
    id: DEFAULT_WORKSPACE,
    slug: DEFAULT_WORKSPACE,
    organisationId,
    workspaceId: null,
    version: 1,
    createdAt: 0,
    updatedAt: 0,
    resource: { ...resource },
    details: {},
    sealed: null,
    keyHashes: [],
  };
  return [{ row, source: "the installation" }, ...found];
}

function changeable(asked: Asked): SavedRow {
  if (asked.parameters["id"] === DEFAULT_WORKSPACE)
    throw new GatewayError("conflict", "The default workspace comes with its organisation; its defaults stand in unigate.yaml.");
  return changeableOf(asked, "workspace", asked.parameters["id"] ?? "");
}

function workspaceRow({ row, source }: Thing): JsonObject {
  const { name: shown, defaults } = row.resource ?? {};
  const { description = null } = row.details;
  return {
    id: row.id,
    object: "workspace",
    slug: row.slug,
    name: shown,
    description,
    organisation_id: row.organisationId,
    status: "active",
    defaults,
    source,
    created_at: isoTime(row.createdAt),
    last_updated_at: isoTime(row.updatedAt),
  };
}
