import type { JsonObject } from "@unigate/core";
import { z } from "zod";
import { deleted, listFields } from "../answers.ts";
import { endpoint } from "../asked.ts";
import { anyQuery, isoTime, text } from "../fields.ts";
import { listOf, paging } from "../listing.ts";
import { changeableOf, type Thing, thingOf } from "../things.ts";
import { removal, write } from "../write.ts";
import { keyAnswer } from "./answers.ts";
import { keyOf, keysToList, requireKeyRight } from "./key-rights.ts";

const listQuery = z.strictObject({ ...paging, workspace_id: text.optional(), ids: text.optional() });

export const listKeys = endpoint(
  { summary: "API keys", body: null, query: listQuery, answer: z.object(listFields(keyAnswer)) },
  (asked) => {
    const { workspace_id, ids } = asked.query;
    const named = ids === undefined ? null : new Set(ids.split(","));
    const keys = keysToList(asked)
      .filter(({ row }) => workspace_id === undefined || row.workspaceId === workspace_id)
      .filter(({ row }) => named === null || named.has(row.id));
    return listOf(keys, asked.query, (thing) => keyRow(thing, asked.api.clock.now()));
  },
);

export const getKey = endpoint({ summary: "One API key, without its text", body: null, query: anyQuery, answer: keyAnswer }, (asked) => {
  const thing = thingOf(asked, "api_key", asked.parameters["id"] ?? "");
  requireKeyRight(asked, thing.row, "read");
  return keyRow(thing, asked.api.clock.now());
});

export const deleteKey = endpoint({ summary: "Revoke an API key", body: null, query: anyQuery, answer: deleted }, async (asked) => {
  const row = changeableOf(asked, "api_key", asked.parameters["id"] ?? "");
  requireKeyRight(asked, row, "delete");
  await write(asked.api, [removal(row)]);
  return { success: true };
});

function keyRow({ row, source }: Thing, now: number): JsonObject {
  const key = keyOf(row);
  const { description = null, user_id = null, masked = null, transition_ends_at } = row.details;
  return {
    id: key.id,
    object: "api-key",
    key: masked,
    name: key.name,
    description,
    type: key.type,
    organisation_id: key.organisation_id,
    workspace_id: key.workspace_id,
    user_id,
    status: key.expires_at !== null && key.expires_at < now ? "expired" : "active",
    creation_mode: source === null ? "api" : "auto",
    source,
    scopes: key.scopes,
    defaults: key.defaults,
    rate_limits: key.rate_limits,
    allowed_models: key.allowed_models,
    allowed_providers: key.allowed_providers,
    expires_at: key.expires_at === null ? null : isoTime(key.expires_at),
    key_transition_expires_at: typeof transition_ends_at === "number" ? isoTime(transition_ends_at) : null,
    created_at: isoTime(row.createdAt),
    last_updated_at: isoTime(row.updatedAt),
  };
}
