import { emptyUsage, type JsonObject, type Usage } from "@unigate/core";
import { countOf, objectOf } from "../chat/json-value.ts";

/**
 * The counts of a Messages `usage` object. `input_tokens` leaves cached tokens out, so the buckets are disjoint as they
 * come. Cache writes of an untold lifetime count as 5 minutes, the default; `output_tokens` holds the thinking tokens.
 */
export function usageOf(counts: JsonObject): Usage {
  const usage = emptyUsage();
  usage.input = countOf(counts["input_tokens"]);
  usage.cacheRead = countOf(counts["cache_read_input_tokens"]);

  const writes = objectOf(counts["cache_creation"]);
  const fiveMinutes = countOf(writes["ephemeral_5m_input_tokens"]);
  usage.cacheWrite1h = countOf(writes["ephemeral_1h_input_tokens"]);
  usage.cacheWrite5m = Math.max(fiveMinutes, countOf(counts["cache_creation_input_tokens"]) - usage.cacheWrite1h);

  const output = countOf(counts["output_tokens"]);
  usage.reasoning = Math.min(output, countOf(objectOf(counts["output_tokens_details"])["thinking_tokens"]));
  usage.outputText = output - usage.reasoning;

  for (const [name, value] of Object.entries(objectOf(counts["server_tool_use"]))) {
    if (countOf(value) > 0 && name !== "__proto__") usage.units[name] = countOf(value);
  }
  return usage;
}

/** Counts told so far with newer ones laid over them: a stream restates some, and null restates nothing. */
export function mergeCounts(known: JsonObject, newer: JsonObject): JsonObject {
  const merged: JsonObject = { ...known };
  for (const [key, value] of Object.entries(newer)) if (value != null && key !== "__proto__") merged[key] = value;
  return merged;
}
