import { type ApiKeyResource, newId } from "@unigate/core";
import { hashOfKey, makeGatewayKey } from "@unigate/secrets";
import { z } from "zod";
import { keyRulesOf } from "../../keys.ts";
import { DEFAULT_WORKSPACE } from "../../tenants.ts";
import { type Endpoint, endpoint } from "../asked.ts";
import { anyQuery, place, text } from "../fields.ts";
import { workspaceOf } from "../place.ts";
import { invalidField } from "../read-fields.ts";
import { newRow, write } from "../write.ts";
import { newKeyAnswer } from "./answers.ts";
import { keyFields } from "./fields.ts";
import { grantedScopes, requireConfig, requireOrganisationKey } from "./key-rights.ts";
import { maskKey } from "./mask-key.ts";

const SUMMARIES = {
  "organisation-service": "Make an API key of the organisation",
  "workspace-service": "Make an API key of a workspace",
  "workspace-user": "Make an API key of a user in a workspace",
} as const satisfies Record<ApiKeyResource["type"], string>;

const body = z.strictObject({ ...keyFields, ...place, user_id: text.optional() });

/** POST /api-keys/{type}/{sub-type}. Its answer is the only one that ever shows the key's text. */
export function createKey(type: ApiKeyResource["type"]): Endpoint {
  return endpoint({ summary: SUMMARIES[type], body, query: anyQuery, answer: newKeyAnswer }, async (asked) => {
    const { name, description = null, user_id = null, workspace_id } = asked.body;
    if (type === "organisation-service") {
      requireOrganisationKey(asked);
      if (typeof workspace_id === "string") throw invalidField("workspace_id", "an organisation key has no workspace");
    }
    if (type !== "workspace-user" && user_id !== null) throw invalidField("user_id", "only keys of users have one");
    const keyText = makeGatewayKey();
    const resource: ApiKeyResource = {
      id: newId("key-"),
      name,
      type,
      organisation_id: asked.organisationId,
      workspace_id: type === "organisation-service" ? null : (workspaceOf(asked, workspace_id) ?? DEFAULT_WORKSPACE),
      scopes: grantedScopes(asked, asked.body.scopes),
      ...(user_id === null ? {} : { user_id }),
      ...keyRulesOf(asked.body),
      key_sha256: hashOfKey(keyText).toString("hex"),
    };
    requireConfig(asked, resource.defaults.config_id, resource.workspace_id ?? DEFAULT_WORKSPACE, "key");
    const row = newRow(asked, {
      kind: "api_key",
      id: resource.id,
      slug: resource.id,
      organisationId: resource.organisation_id,
      workspaceId: resource.workspace_id,
      resource: { ...resource },
      details: { description, user_id, masked: maskKey(keyText) },
      keyHashes: [resource.key_sha256],
    });
    await write(asked.api, [{ put: row }]);
    return { id: row.id, key: keyText, object: "api-key" };
  });
}
