import { completionTokens, emptyUsage, isObject, type JsonObject, promptTokens, type Usage } from "@unigate/core";

/**
 * The disjoint buckets of an OpenAI-shaped `usage` object. `prompt_tokens` holds the cached ones. Vendor spellings of
 * cached tokens are understood (DeepSeek, Moonshot, Mistral), and so is a `completion_tokens` that leaves reasoning
 * out (xAI; seen by its total). Whatever is no count is 0.
 */
export function usageOfOpenAi(object: JsonObject): Usage {
  const prompt = detailsOf(object["prompt_tokens_details"]);
  const completion = detailsOf(object["completion_tokens_details"]);
  const usage = emptyUsage();
  const promptCount = count(object["prompt_tokens"]);
  usage.audioIn = Math.min(count(prompt["audio_tokens"]), promptCount);
  usage.cacheRead = Math.min(cachedTokens(object, prompt), promptCount - usage.audioIn);
  usage.cacheWrite5m = Math.min(
    count(prompt["cache_write_tokens"]) || count(prompt["cache_creation_tokens"]),
    promptCount - usage.audioIn - usage.cacheRead,
  );
  usage.input = promptCount - usage.audioIn - usage.cacheRead - usage.cacheWrite5m;

  const completionCount = completionTokensOf(object);
  usage.reasoning = Math.min(reasoningTokens(object), completionCount);
  usage.audioOut = Math.min(count(completion["audio_tokens"]), completionCount - usage.reasoning);
  usage.image = Math.min(count(completion["image_tokens"]), completionCount - usage.reasoning - usage.audioOut);
  usage.outputText = completionCount - usage.reasoning - usage.audioOut - usage.image;

  const searches = count(object["num_search_queries"]);
  if (searches > 0) usage.units["searches"] = searches;
  const sources = count(object["num_sources_used"]);
  if (sources > 0) usage.units["sources"] = sources;
  return usage;
}

/**
 * The generated tokens of an OpenAI-shaped `usage` object, reasoning included: where the total says that
 * `completion_tokens` leaves reasoning out, it is added.
 */
export function completionTokensOf(object: JsonObject): number {
  const completion = count(object["completion_tokens"]);
  const reasoning = reasoningTokens(object);
  const excluded = reasoning > 0 && count(object["total_tokens"]) === count(object["prompt_tokens"]) + completion + reasoning;
  return excluded ? completion + reasoning : completion;
}

/** OpenAI's `usage` object. With `strict` only OpenAI's fields; else also the counts of cache reads and writes. */
export function openAiUsage(usage: Usage, strict: boolean): JsonObject {
  const prompt = promptTokens(usage);
  const completion = completionTokens(usage);
  const object: JsonObject = {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details:
      usage.audioIn > 0 ? { cached_tokens: usage.cacheRead, audio_tokens: usage.audioIn } : { cached_tokens: usage.cacheRead },
    completion_tokens_details:
      usage.audioOut > 0 ? { reasoning_tokens: usage.reasoning, audio_tokens: usage.audioOut } : { reasoning_tokens: usage.reasoning },
  };
  if (!strict) {
    object["cache_read_input_tokens"] = usage.cacheRead;
    object["cache_creation_input_tokens"] = usage.cacheWrite5m + usage.cacheWrite1h;
  }
  return object;
}

function reasoningTokens(object: JsonObject): number {
  return count(detailsOf(object["completion_tokens_details"])["reasoning_tokens"]) || count(object["reasoning_tokens"]);
}

function cachedTokens(object: JsonObject, prompt: JsonObject): number {
  return (
    count(prompt["cached_tokens"]) ||
    count(object["prompt_cache_hit_tokens"]) ||
    count(object["cached_tokens"]) ||
    count(object["num_cached_tokens"])
  );
}

const NO_DETAILS: JsonObject = {};

function detailsOf(value: unknown): JsonObject {
  return isObject(value) ? value : NO_DETAILS;
}

function count(value: unknown): number {
  return typeof value === "number" && value > 0 && Number.isSafeInteger(value) ? value : 0;
}
