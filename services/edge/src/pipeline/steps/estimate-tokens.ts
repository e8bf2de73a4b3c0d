import type { Facts } from "@unigate/contracts";
import { isObject, type JsonObject } from "@unigate/core";

/** Taken for what an answer has at most, when the request does not say. */
const UNSAID_OUTPUT = 4_096;
const MAX_CHOICES = 128;

/** What an attempt is believed to use: its prompt by characters, and all that it may generate. */
export function estimateTokens(facts: Facts, json: JsonObject | null): number {
  if (facts.path === "/embeddings") return facts.inputTokens;
  const choices = isObject(json) ? json["n"] : 1;
  const times = Number.isInteger(choices) ? Math.min(Math.max(1, choices as number), MAX_CHOICES) : 1;
  return facts.inputTokens + times * (facts.maxOutputTokens ?? UNSAID_OUTPUT);
}
