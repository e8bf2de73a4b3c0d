import { isObject, type JsonObject } from "@unigate/core";
import { stringOf } from "../chat/json-value.ts";
import { isThirdGeneration, versionOf } from "./model-name.ts";

/** Thinking tokens by effort, as Google's own OpenAI surface maps them. */
const BUDGETS: ReadonlyMap<string, number> = new Map([
  ["none", 0],
  ["minimal", 1024],
  ["low", 1024],
  ["medium", 8192],
  ["high", 24_576],
  ["xhigh", 24_576],
  ["max", 24_576],
]);

/** The least that 2.5 Pro takes: it cannot stop thinking. */
const PRO_LEAST = 128;
/** The first version that thinks. */
const FIRST = 205;

/**
 * `thinkingConfig` from the client's `thinking` ({type, budget_tokens}), else from `reasoning_effort`; null = not sent.
 * Summaries of thoughts are asked for where the client can see them: when it names `thinking`, or outside strict mode.
 */
export function thinkingConfig(json: JsonObject, model: string, strict: boolean): JsonObject | null {
  const own = json["thinking"];
  if (isObject(own)) return ownThinking(own, model);
  const effort = stringOf(json["reasoning_effort"]);
  if (effort === "" || (versionOf(model) ?? FIRST) < FIRST) return null;
  const config = configOf(effort, model);
  return strict || effort === "none" ? config : { ...config, includeThoughts: true };
}

function ownThinking(own: JsonObject, model: string): JsonObject {
  if (own["type"] === "disabled") return configOf("none", model);
  if (typeof own["budget_tokens"] === "number") return { thinkingBudget: own["budget_tokens"], includeThoughts: true };
  // -1: as much as the model finds right, which later models do by themselves.
  if (own["type"] === "adaptive" && !isThirdGeneration(model)) return { thinkingBudget: -1, includeThoughts: true };
  return { includeThoughts: true };
}

/** A level for models that have them, else a budget: all others take one, and so do the later ones. */
function configOf(effort: string, model: string): JsonObject {
  const tokens = BUDGETS.get(effort);
  if (isThirdGeneration(model) || tokens === undefined) return { thinkingLevel: levelOf(effort, model) };
  return { thinkingBudget: tokens === 0 && model.includes("pro") ? PRO_LEAST : tokens };
}

/** The Pro models know no "minimal", the first of them no "medium" either. Nothing in this generation stops thinking. */
function levelOf(effort: string, model: string): string {
  const pro = model.includes("pro");
  switch (effort) {
    case "none":
    case "minimal":
      return pro ? "LOW" : "MINIMAL";
    case "medium":
      return pro && versionOf(model) === 300 ? "HIGH" : "MEDIUM";
    case "xhigh":
    case "max":
      return "HIGH";
    default:
      return effort.toUpperCase();
  }
}
