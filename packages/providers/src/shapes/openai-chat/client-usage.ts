import { isObject, type JsonObject, promptTokens, type Usage } from "@unigate/core";
import { completionTokensOf } from "../../chat/usage.ts";

/**
 * A vendor's `usage` object as OpenAI's clients read it: generated tokens with reasoning among them, cached tokens in
 * their place, a total. The same object when it is right already; the vendor's other fields stay.
 */
export function clientUsage(object: JsonObject, usage: Usage): JsonObject {
  const completion = completionTokensOf(object);
  const total = object["total_tokens"];
  const cachedInPlace = usage.cacheRead === 0 || isObject(object["prompt_tokens_details"]);
  if (completion === object["completion_tokens"] && cachedInPlace && typeof total === "number") return object;
  const repaired: JsonObject = { ...object, completion_tokens: completion };
  if (typeof total !== "number") repaired["total_tokens"] = promptTokens(usage) + completion;
  if (!cachedInPlace) repaired["prompt_tokens_details"] = { cached_tokens: usage.cacheRead };
  return repaired;
}

/** Whether an object counts anything. */
export function isUsage(value: unknown): value is JsonObject {
  return isObject(value) && (typeof value["prompt_tokens"] === "number" || typeof value["completion_tokens"] === "number");
}
