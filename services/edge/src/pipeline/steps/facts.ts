import type { Facts } from "@unigate/contracts";
import type { JsonObject } from "@unigate/core";
import type { Run } from "../run-state.ts";

/** Characters a token stands for, on the average of English text (mesh.md section 7). */
const CHARACTERS_A_TOKEN = 3.6;
/** Largest number of a uint32 field. */
const MAX_TOKENS = 4_294_967_295;

/** What leaf services decide on. Made only when one of them is asked. `json` = the body as a target gets it. */
export function factsOf(run: Run, model: string, stream: boolean, json: JsonObject | null = run.request.json): Facts {
  const { request } = run;
  const maxTokens = json?.["max_completion_tokens"] ?? json?.["max_tokens"];
  const user = request.json?.["user"];
  return {
    surface: request.surface,
    method: request.method,
    path: request.path,
    model,
    stream,
    metadata: run.metadata,
    conditionValues: {},
    headers: [],
    inputTokens: request.body === null ? 0 : Math.ceil(request.body.length / CHARACTERS_A_TOKEN),
    ...(isTokenCount(maxTokens) ? { maxOutputTokens: Math.min(maxTokens, MAX_TOKENS) } : {}),
    bodyBytes: request.body?.length ?? 0,
    user: typeof user === "string" ? user : "",
  };
}

/** A proxied body is not checked: what is no count of tokens there is no fact. */
function isTokenCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0;
}
