import { isObject, type JsonObject } from "@unigate/core";
import { countOf, stringOf } from "../chat/json-value.ts";
import type { Turn } from "./conversation.ts";
import { thinkingKindOf, versionOf } from "./model-name.ts";

/** Output limit when the client gives none: every model takes it. */
const DEFAULT_MAX_TOKENS = 4096;
/** The API refuses smaller budgets. */
const LEAST_BUDGET = 1024;
/** With the default limit on top, the largest stays below the output limit of every model that thinks by budget. */
const BUDGETS: ReadonlyMap<string, number> = new Map([
  ["minimal", 1024],
  ["low", 2048],
  ["medium", 8192],
  ["high", 16_384],
  ["xhigh", 24_576],
  ["max", 24_576],
]);

export interface ThinkingFields {
  readonly maxTokens: number;
  /** The `thinking` field; undefined = not sent. */
  readonly thinking: unknown;
  /** For `output_config.effort`; "" = not sent. */
  readonly effort: string;
  /** True when the gateway itself turned thinking on: then sampling settings that the API refuses beside it are left out. */
  readonly chosen: boolean;
}

/**
 * The output limit and the thinking of a request. The client's own `thinking` passes as it is; else `reasoning_effort`
 * chooses, as far as the model, a forced tool and the history allow.
 */
export function thinkingFields(json: JsonObject, model: string, turns: readonly Turn[], forcedTool: boolean): ThinkingFields {
  const asked = countOf(json["max_completion_tokens"]) || countOf(json["max_tokens"]);
  const own = json["thinking"];
  if (own != null) {
    const budget = isObject(own) ? countOf(own["budget_tokens"]) : 0;
    return { maxTokens: asked || DEFAULT_MAX_TOKENS + budget, thinking: own, effort: effortOf(json, model), chosen: false };
  }
  const none: ThinkingFields = { maxTokens: asked || DEFAULT_MAX_TOKENS, thinking: undefined, effort: "", chosen: false };
  const effort = stringOf(json["reasoning_effort"]);
  const kind = thinkingKindOf(model);
  if (effort === "" || kind === "none") return none;
  if (kind === "adaptive") {
    if (effort === "none") return { ...none, thinking: { type: "disabled" } };
    return { ...none, thinking: { type: "adaptive" }, effort: effortOf(json, model), chosen: true };
  }
  const wanted = BUDGETS.get(effort) ?? 0;
  if (wanted === 0 || forcedTool || lacksThoughts(turns)) return none;
  if (asked === 0) return { ...none, maxTokens: DEFAULT_MAX_TOKENS + wanted, thinking: enabled(wanted), chosen: true };
  const budget = Math.min(wanted, asked - 1);
  return budget < LEAST_BUDGET ? none : { ...none, thinking: enabled(budget), chosen: true };
}

function enabled(budget: number): JsonObject {
  return { type: "enabled", budget_tokens: budget };
}

/** `reasoning_effort` in the words of a model that takes an effort; "" where it takes none. */
function effortOf(json: JsonObject, model: string): string {
  const effort = stringOf(json["reasoning_effort"]);
  if (thinkingKindOf(model) !== "adaptive" || effort === "none") return "";
  if (effort === "minimal") return "low";
  return effort === "xhigh" && versionOf(model) === 406 ? "max" : effort;
}

/**
 * Whether the turn in progress holds tool calls whose thoughts the client did not send back: with a budget the API
 * refuses to think then.
 */
function lacksThoughts(turns: readonly Turn[]): boolean {
  for (const turn of turns.toReversed()) {
    if (turn.role === "user" && !turn.content.some((block) => block["type"] === "tool_result")) return false;
    if (turn.role === "assistant" && !isThought(turn.content[0])) return true;
  }
  return false;
}

function isThought(block: JsonObject | undefined): boolean {
  return block?.["type"] === "thinking" || block?.["type"] === "redacted_thinking";
}
