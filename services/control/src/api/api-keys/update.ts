import type { ApiKeyResource } from "@unigate/core";
import { z } from "zod";
import { keyRulesOf } from "../../keys.ts";
import { DEFAULT_WORKSPACE } from "../../tenants.ts";
import { endpoint } from "../asked.ts";
import { anyQuery, notYet } from "../fields.ts";
import { changeableOf } from "../things.ts";
import { nextRow, withGiven, write } from "../write.ts";
import { changedKeyAnswer } from "./answers.ts";
import { keyFields } from "./fields.ts";
import { grantedScopes, keyOf, requireConfig, requireKeyRight } from "./key-rights.ts";

const body = z.strictObject({ ...keyFields, reset_usage: notYet("usage limits") }).partial();

/** PUT /api-keys/{id}: what is not given stays. Its text stays as well: see rotate. */
export const updateKey = endpoint({ summary: "Change an API key", body, query: anyQuery, answer: changedKeyAnswer }, async (asked) => {
  const row = changeableOf(asked, "api_key", asked.parameters["id"] ?? "");
  requireKeyRight(asked, row, "update");
  const before = keyOf(row);
  const { name = before.name, scopes, description } = asked.body;
  const resource: ApiKeyResource = {
    ...before,
    name,
    scopes: scopes === undefined ? before.scopes : grantedScopes(asked, scopes),
    ...keyRulesOf(asked.body, before),
  };
  if (asked.body.defaults !== undefined)
    requireConfig(asked, resource.defaults.config_id, resource.workspace_id ?? DEFAULT_WORKSPACE, "key");
  const details = withGiven(row.details, { description });
  await write(asked.api, [{ put: nextRow(asked, row, { resource: { ...resource }, details }) }]);
  return { id: row.id, object: "api-key" };
});
