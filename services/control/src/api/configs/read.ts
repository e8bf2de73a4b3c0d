import { type ConfigResource, GatewayError, type JsonObject, jsonOf, type WorkspaceResource } from "@unigate/core";
import { z } from "zod";
import { type SavedRow, SavedUnavailable } from "../../saved/types.ts";
import { deleted } from "../answers.ts";
import { type Asked, endpoint } from "../asked.ts";
import { anyQuery, isoTime, text } from "../fields.ts";
import { listOf, paging } from "../listing.ts";
import { changeableOf, type Thing, thingOf, thingsOf } from "../things.ts";
import { removal, write } from "../write.ts";
import { configAnswer, configsAnswer, configVersionsAnswer } from "./answers.ts";
import { maskConfig } from "./masked.ts";

const listQuery = z.strictObject({ ...paging, workspace_id: text.optional() });
const pageQuery = z.strictObject(paging);

export const listConfigs = endpoint({ summary: "Configs", body: null, query: listQuery, answer: configsAnswer }, (asked) => {
  const { workspace_id } = asked.query;
  const configs = thingsOf(asked, "config").filter(({ row }) => workspace_id === undefined || row.workspaceId === workspace_id);
  return { success: true, ...listOf(configs, asked.query, (thing) => configRow(asked, thing)) };
});

export const getConfig = endpoint({ summary: "One config", body: null, query: anyQuery, answer: configAnswer }, (asked) => {
  const thing = thingOf(asked, "config", asked.parameters["slug"] ?? "");
  return { success: true, data: { ...configRow(asked, thing), config: configText(thing.row) } };
});

/** GET /configs/{slug}/versions, newest first. */
export const listConfigVersions = endpoint(
  { summary: "Versions of a config, newest first", body: null, query: pageQuery, answer: configVersionsAnswer },
  async (asked) => {
    const { row, source } = thingOf(asked, "config", asked.parameters["slug"] ?? "");
    const rows = source === null ? await versionsOf(asked, row) : [row];
    return listOf(rows, asked.query, (version) => ({
      id: configOf(version).version,
      object: "config-version",
      version: version.version,
      name: configOf(version).name,
      config: configText(version),
      created_at: isoTime(version.updatedAt),
    }));
  },
);

async function versionsOf({ api }: Asked, { kind, id }: SavedRow): Promise<readonly SavedRow[]> {
  try {
    return await api.saved.versions(kind, id);
  } catch (cause) {
    if (!(cause instanceof SavedUnavailable)) throw cause;
    throw new GatewayError("service_unavailable", "The versions cannot be read right now.", { cause, retryAfterMs: 1_000 });
  }
}

/** DELETE /configs/{slug}: not while it is the default of a key or workspace, whose requests would then go nowhere. */
export const deleteConfig = endpoint({ summary: "Delete a config", body: null, query: anyQuery, answer: deleted }, async (asked) => {
  const row = changeableOf(asked, "config", asked.parameters["slug"] ?? "");
  const user = keyWithDefault(asked, row.slug);
  if (user !== null)
    throw new GatewayError("conflict", `The config is the default of the API key ${user}; give that key another default first.`);
  const workspace = defaultOf(asked, row.slug)[0];
  if (workspace !== undefined)
    throw new GatewayError("conflict", `The config is the default of the workspace "${workspace}"; give that another default first.`);
  await write(asked.api, [removal(row)]);
  return { success: true };
});

/** A key whose default is this config, whoever may see it. */
function keyWithDefault({ api, organisationId }: Asked, slug: string): string | null {
  const declared = api.snapshot().all("api_key", organisationId);
  const resources = [
    ...declared.map(({ json }) => jsonOf(json)),
    ...api.saved.list("api_key", organisationId).map(({ resource }) => resource),
  ];
  for (const resource of resources) {
    const { id, name, defaults } = resource as { id: string; name: string; defaults: { config_id: string | null } };
    if (defaults.config_id === slug) return `"${name}" (${id})`;
  }
  return null;
}

/** Ids of the workspaces whose default a config is, whoever may see them. */
function defaultOf({ api, organisationId }: Pick<Asked, "api" | "organisationId">, slug: string): string[] {
  const declared = api.snapshot().all("workspace", organisationId);
  const resources = [
    ...declared.map(({ json }) => jsonOf(json)),
    ...api.saved.list("workspace", organisationId).map(({ resource }) => resource),
  ];
  return (resources as WorkspaceResource[]).filter(({ defaults }) => defaults.config_id === slug).map(({ id }) => id);
}

/** The resource of a config's row. */
export function configOf({ resource }: SavedRow): ConfigResource {
  if (resource === null) throw new Error("a saved config has no resource");
  return resource as object as ConfigResource;
}

/** How a version of a config is named, in the API and in logs. */
export function versionId(id: string, version: number): string {
  return `${id}@${version}`;
}

/** A config is answered as its JSON text (behaviour 9.2), without credentials. */
function configText(row: SavedRow): string {
  return JSON.stringify(maskConfig(configOf(row).config));
}

function configRow(asked: Pick<Asked, "api" | "organisationId">, { row, source }: Thing): JsonObject {
  const config = configOf(row);
  return {
    id: config.id,
    object: "config",
    slug: config.id,
    name: config.name,
    organisation_id: config.organisation_id,
    workspace_id: config.workspace_id,
    status: "active",
    is_default: defaultOf(asked, row.slug).length > 0 ? 1 : 0,
    version_id: config.version,
    source,
    created_at: isoTime(row.createdAt),
    last_updated_at: isoTime(row.updatedAt),
  };
}
