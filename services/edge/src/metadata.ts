import { type ApiKeyResource, GatewayError, isObject } from "@unigate/core";
import { readBaggage } from "./baggage.ts";
import type { ClientHeaders } from "./client-headers.ts";

const NONE: Readonly<Record<string, string>> = Object.freeze({});

/** The client's metadata: its header, over what its trace carries as baggage. Throws invalid_metadata naming the key. */
export function readMetadata(headers: ClientHeaders): Readonly<Record<string, string>> {
  const own = readHeader(headers["x-gateway-metadata"]);
  const carried = readBaggage(headers["baggage"]);
  return carried === null ? own : { ...carried, ...own };
}

/** Flat JSON of strings (DESIGN 8.12). */
function readHeader(text: string | undefined): Readonly<Record<string, string>> {
  if (text === undefined || text === "") return NONE;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new GatewayError("invalid_metadata", "x-gateway-metadata is not valid JSON; expected an object of strings.", {
      param: "x-gateway-metadata",
    });
  }
  if (!isObject(value))
    throw new GatewayError("invalid_metadata", "x-gateway-metadata must be a JSON object of strings.", { param: "x-gateway-metadata" });
  for (const [key, item] of Object.entries(value)) {
    if (key === "__proto__")
      throw new GatewayError("invalid_metadata", "x-gateway-metadata must not have a key __proto__.", { param: "x-gateway-metadata" });
    if (typeof item !== "string") {
      throw new GatewayError("invalid_metadata", `x-gateway-metadata.${key.slice(0, 60)} must be a string.`, {
        param: "x-gateway-metadata",
      });
    }
  }
  return value as Record<string, string>;
}

/**
 * The metadata of request, key and workspace together: the workspace wins over the key, the key over its user, who is
 * `_user`, and all of them over the request (behaviour 1.1).
 */
export function mergeMetadata(
  request: Readonly<Record<string, string>>,
  { user_id, defaults }: Pick<ApiKeyResource, "user_id" | "defaults">,
  workspace: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (user_id === undefined && isEmpty(defaults.metadata) && isEmpty(workspace)) return request;
  return { ...request, ...(user_id === undefined ? {} : { _user: user_id }), ...defaults.metadata, ...workspace };
}

function isEmpty(metadata: Readonly<Record<string, string>>): boolean {
  for (const _ in metadata) return false;
  return true;
}
