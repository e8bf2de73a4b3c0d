import type { CheckReply, CheckRequest } from "@unigate/contracts";
import { bufferOfJson, type Call } from "@unigate/core";
import type { GuardrailDeps } from "./deps.ts";
import { readInput } from "./input.ts";
import type { PreparedHooks } from "./prepared-hooks.ts";
import { withoutRewrite } from "./results.ts";
import { type HookOutcome, runHook } from "./run-hook.ts";
import { Turn } from "./turn.ts";

const DEFAULT_CHECK_TIMEOUT_MS = 5_000;
const UNCHANGED = Buffer.alloc(0);

/**
 * Runs the hooks of one phase side by side. One that denies decides; else one that failed marks the answer. When several
 * rewrite the body, the last one in the config's order does.
 */
export async function check(deps: GuardrailDeps, hooks: PreparedHooks, request: CheckRequest, call: Call): Promise<CheckReply> {
  const run = {
    input: readInput(request),
    call,
    clock: deps.clock,
    timeoutMs: deps.checkTimeoutMs ?? DEFAULT_CHECK_TIMEOUT_MS,
    turn: new Turn(),
    post: deps.post,
  };
  const outcomes = await Promise.all(request.hooks.map(async (ref) => runHook(await hooks.get(ref, request.tenant, call), run)));
  const ran = outcomes.filter((outcome) => outcome !== null);
  const last = ran.findLast((outcome) => outcome.rewritten !== null);
  const rewritten = last?.rewritten ?? null;
  return {
    verdict: verdictOf(ran),
    hookResultsJson: bufferOfJson(ran.map((outcome) => (outcome === last ? outcome.result : withoutRewrite(outcome.result)))),
    body: rewritten === null ? UNCHANGED : bufferOfJson(rewritten),
    addMetadata: {},
  };
}

function verdictOf(outcomes: readonly HookOutcome[]): "pass" | "soft" | "deny" {
  if (outcomes.some((outcome) => outcome.effect === "deny")) return "deny";
  return outcomes.some((outcome) => outcome.effect === "soft") ? "soft" : "pass";
}
