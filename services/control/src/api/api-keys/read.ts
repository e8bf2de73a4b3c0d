import type { JsonObject } from "@unigate/core";
import { z } from "zod";
import { endpoint } from "../asked.ts";
import { anyQuery, isoTime, text } from "../fields.ts";
import { listOf, paging } from "../listing.ts";
import { changeableOf, type Thing, thingOf } from "../things.ts";
import { removal, write } from "../write.ts";
import { keyOf, keysToList, requireKeyRight } from "./key-rights.ts";

const listQuery = z.strictObject({ ...paging, workspace_id: text.optional(), ids: text.optional() });

export const listKeys = endpoint({ body: null, query: listQuery }, (asked) => {
  const { workspace_id, ids } = asked.query;
  const named = ids === undefined ? null : new Set(ids.split(","));
  const keys = keysToList(asked)
    .filter(({ row }) => workspace_id === undefined || row.workspaceId === workspace_id)
    .filter(({ row }) => named === null || named.has(row.id));
  return listOf(keys, asked.query, (thing) => keyRow(thing, asked.api.clock.now()));
});

export const getKey = endpoint({ body: null, query: anyQuery }, (asked) => {
  const thing = thingOf(asked, "api_key", asked.parameters["id"] ?? "");
  requireKeyRight(asked, thing.row, "read");
  return keyRow(thing, asked.api.clock.now());
});

export const deleteKey = endpoint({ body: null, query: anyQuery }, async (asked) => {
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
