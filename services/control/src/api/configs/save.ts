import { type ConfigResource, isObject, type JsonObject } from "@unigate/core";
import { z } from "zod";
import { configFindings, sealConfig } from "../../configs.ts";
import { anyObject } from "../../declared/grammar.ts";
import { type Asked, endpoint } from "../asked.ts";
import { anyQuery, name, place } from "../fields.ts";
import { newSlug } from "../new-names.ts";
import { workspaceOf } from "../place.ts";
import { invalidField, refuseFindings } from "../read-fields.ts";
import { changeableOf } from "../things.ts";
import { newRow, nextRow, write } from "../write.ts";
import { changedConfigAnswer, newConfigAnswer } from "./answers.ts";
import { refuseForeignHosts } from "./foreign-hosts.ts";
import { type Former, unmaskConfig } from "./masked.ts";
import { configOf, versionId } from "./read.ts";

/** Clients send the config itself or its JSON text. */
const config = z.union([anyObject, z.string()], { error: "expected a config object" });
const isDefault = z.literal(0, "a workspace names its default config itself: PUT /workspaces/{id} with defaults.config_id").optional();

const newConfig = z.strictObject({ name, config, isDefault, ...place });
const changedConfig = z.strictObject({
  name: name.optional(),
  config: config.optional(),
  isDefault,
  status: z.enum(["active"]).optional(),
});

/** POST /configs */
export const createConfig = endpoint(
  { summary: "Make a config", body: newConfig, query: anyQuery, answer: newConfigAnswer },
  async (asked) => {
    const { api, organisationId } = asked;
    const id = newSlug("pc-", asked.body.name);
    const workspaceId = workspaceOf(asked, asked.body.workspace_id);
    const resource: ConfigResource = {
      id,
      name: asked.body.name,
      version: versionId(id, 1),
      organisation_id: organisationId,
      workspace_id: workspaceId,
      config: checkedConfig(asked, asked.body.config, null, { id, organisationId }),
    };
    const row = newRow(asked, { kind: "config", id, slug: id, organisationId, workspaceId, resource: { ...resource }, details: {} });
    await write(api, [{ put: row }]);
    return { success: true, data: { id, slug: id, version_id: resource.version, object: "config" } };
  },
);

/** PUT /configs/{slug}: each makes a version. A config that is given takes the place of the whole former one. */
export const updateConfig = endpoint(
  { summary: "Make another version of a config", body: changedConfig, query: anyQuery, answer: changedConfigAnswer },
  async (asked) => {
    const { api, body } = asked;
    const row = changeableOf(asked, "config", asked.parameters["slug"] ?? "");
    const before = configOf(row);
    const former: Former = { id: row.id, organisationId: row.organisationId, config: before.config, sealer: api.sealer };
    const resource: ConfigResource = {
      ...before,
      name: body.name ?? before.name,
      version: versionId(row.id, row.version + 1),
      config: body.config === undefined ? before.config : checkedConfig(asked, body.config, former, row),
    };
    await write(api, [{ put: nextRow(asked, row, { resource: { ...resource } }) }]);
    return { success: true, data: { id: row.id, slug: row.slug, version_id: resource.version } };
  },
);

/** A config that was given, checked as one of unigate.yaml is, its credentials sealed. */
function checkedConfig(
  asked: Pick<Asked, "api" | "caller" | "organisationId">,
  given: string | JsonObject,
  former: Former | null,
  { id, organisationId }: { readonly id: string; readonly organisationId: string },
): JsonObject {
  const full = unmaskConfig(typeof given === "string" ? parsed(given) : given, former);
  const { checkConfig, sealer } = asked.api;
  refuseFindings(configFindings(full, checkConfig), "config", "invalid_config");
  const sealed = sealConfig(full, organisationId, id, sealer);
  refuseForeignHosts(asked, sealed);
  return sealed;
}

function parsed(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidField("config", "expected a config object, or its JSON as a text");
  }
  if (!isObject(value)) throw invalidField("config", "expected a config object");
  return value;
}
