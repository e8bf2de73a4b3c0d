import { emptyUsage, isObject, type Usage } from "@unigate/core";
import { countOf, listOf } from "../chat/json-value.ts";

/**
 * The counts of a `usageMetadata` object; null when it counts nothing. Zero counts are missing from it. The prompt count
 * holds the cached tokens but not those of the results of the provider's own tools; the candidates' count does not hold the thoughts.
 */
export function usageOf(counts: unknown): Usage | null {
  if (!isObject(counts) || !Object.values(counts).some((value) => typeof value === "number")) return null;
  const usage = emptyUsage();
  const prompt = countOf(counts["promptTokenCount"]);
  usage.cacheRead = Math.min(prompt, countOf(counts["cachedContentTokenCount"]));
  const audioIn = modality(counts["promptTokensDetails"], "AUDIO") - modality(counts["cacheTokensDetails"], "AUDIO");
  usage.audioIn = Math.min(prompt - usage.cacheRead, Math.max(0, audioIn));
  usage.input = prompt - usage.cacheRead - usage.audioIn + countOf(counts["toolUsePromptTokenCount"]);

  const output = countOf(counts["candidatesTokenCount"]);
  usage.audioOut = Math.min(output, modality(counts["candidatesTokensDetails"], "AUDIO"));
  usage.image = Math.min(output - usage.audioOut, modality(counts["candidatesTokensDetails"], "IMAGE"));
  usage.outputText = output - usage.audioOut - usage.image;
  usage.reasoning = countOf(counts["thoughtsTokenCount"]);
  return usage;
}

function modality(details: unknown, wanted: string): number {
  let tokens = 0;
  for (const detail of listOf(details)) {
    if (isObject(detail) && detail["modality"] === wanted) tokens += countOf(detail["tokenCount"]);
  }
  return tokens;
}
