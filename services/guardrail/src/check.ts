import type { CheckInput } from "@unigate/checks";
import type { CheckReply, CheckRequest } from "@unigate/contracts";
import { bufferOfJson, type Call, isObject, type JsonObject, jsonOf } from "@unigate/core";
import { RpcError } from "@unigate/rpc";
import type { GuardrailDeps } from "./deps.ts";
import type { PreparedHooks } from "./prepared-hooks.ts";
import { type HookOutcome, runHook } from "./run-hook.ts";
import { replyText, requestText } from "./text.ts";
import { Turn } from "./turn.ts";

const DEFAULT_CHECK_TIMEOUT_MS = 5_000;

/** Runs the hooks of one phase side by side. One that denies decides; else one that failed marks the answer. */
export async function check(deps: GuardrailDeps, hooks: PreparedHooks, request: CheckRequest, call: Call): Promise<CheckReply> {
  const run = {
    input: inputOf(request),
    call,
    clock: deps.clock,
    timeoutMs: deps.checkTimeoutMs ?? DEFAULT_CHECK_TIMEOUT_MS,
    turn: new Turn(),
  };
  const outcomes = await Promise.all(request.hooks.map(async (ref) => runHook(await hooks.get(ref, request.tenant, call), run)));
  const ran = outcomes.filter((outcome) => outcome !== null);
  return {
    verdict: verdictOf(ran),
    hookResultsJson: bufferOfJson(ran.map((outcome) => outcome.result)),
    body: Buffer.alloc(0),
    addMetadata: {},
  };
}

function verdictOf(outcomes: readonly HookOutcome[]): "pass" | "soft" | "deny" {
  if (outcomes.some((outcome) => outcome.effect === "deny")) return "deny";
  return outcomes.some((outcome) => outcome.effect === "soft") ? "soft" : "pass";
}

function inputOf({ phase, body, replyBody, facts }: CheckRequest): CheckInput {
  if (phase !== "before" && phase !== "after") {
    throw new RpcError("INVALID_ARGUMENT", `The phase is before or after, not "${phase}".`);
  }
  const request = objectOf(body);
  const reply = phase === "after" ? objectOf(replyBody) : null;
  return {
    phase,
    text:
      phase === "after" ? textOf(replyBody, reply, replyText) : textOf(body, request, (json) => requestText(facts?.surface ?? "", json)),
    request: request ?? {},
    reply: phase === "after" ? (reply ?? {}) : null,
    metadata: facts?.metadata ?? {},
    model: facts?.model ?? "",
  };
}

/** A body that is no JSON object is checked as it stands: nothing passes unseen. */
function textOf(bytes: Buffer, json: JsonObject | null, read: (json: JsonObject) => string): string {
  return json === null ? bytes.toString("utf8") : read(json);
}

function objectOf(body: Buffer): JsonObject | null {
  if (body.length === 0) return null;
  try {
    const json = jsonOf(body);
    return isObject(json) ? json : null;
  } catch {
    return null;
  }
}
