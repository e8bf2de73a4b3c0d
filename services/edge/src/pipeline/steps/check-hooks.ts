import type { CheckReply } from "@unigate/contracts";
import { type HookRule, isObject, jsonOf } from "@unigate/core";
import type { Run } from "../run-state.ts";
import { factsOf } from "./facts.ts";
import type { ShapedBody } from "./shape-body.ts";

const CHECK_DEADLINE_MS = 30_000;
const NOTHING = Buffer.alloc(0);

/** What the hooks of one phase said. */
export interface HookOutcome {
  readonly verdict: "pass" | "soft" | "deny";
  /** A rewritten body, or null. */
  readonly rewritten: Buffer | null;
}

const PASS: HookOutcome = { verdict: "pass", rewritten: null };

/**
 * Runs the synchronous hooks of a phase and adds their results to the run. A guardrail service that is down makes
 * every check an errored one (behaviour 7.2, mesh.md section 2).
 */
export async function runHooks(
  run: Run,
  phase: "before" | "after",
  hooks: readonly HookRule[],
  shaped: ShapedBody,
  reply: { readonly status: number; readonly body: Buffer } | null,
): Promise<HookOutcome> {
  const sync = hooks.filter((hook) => !hook.async);
  if (sync.length === 0) return PASS;
  const answer = await check(run, phase, sync, shaped, reply);
  if (answer === null) return whenDown(run, sync);
  const results: unknown = answer.hookResultsJson.length === 0 ? [] : jsonOf(answer.hookResultsJson);
  if (Array.isArray(results)) run.hooks[phase].push(...results);
  const verdict = answer.verdict === "deny" ? "deny" : answer.verdict === "soft" ? "soft" : "pass";
  if (verdict === "soft") run.hooks.softStatus = 246;
  return { verdict, rewritten: answer.body.length === 0 ? null : answer.body };
}

/** Without the service every check is an errored one: it passes, unless an inline check has failOnError. */
function whenDown(run: Run, hooks: readonly HookRule[]): HookOutcome {
  const failed = hooks.filter(failsOnError);
  if (failed.length === 0) return PASS;
  if (failed.some(mayDeny)) return { verdict: "deny", rewritten: null };
  run.hooks.softStatus = 246;
  return { verdict: "soft", rewritten: null };
}

function failsOnError(hook: HookRule): boolean {
  const json = hook.inlineJson === null ? null : jsonOf(hook.inlineJson);
  if (!isObject(json) || !Array.isArray(json["checks"])) return false;
  return json["checks"].some((check) => isObject(check) && isObject(check["parameters"]) && check["parameters"]["failOnError"] === true);
}

/** Runs the asynchronous hooks of a phase; their results only go to the log. */
export async function runAsyncHooks(
  run: Run,
  phase: "before" | "after",
  hooks: readonly HookRule[],
  shaped: ShapedBody,
  reply: { readonly status: number; readonly body: Buffer } | null,
): Promise<unknown[]> {
  const asynchronous = hooks.filter((hook) => hook.async);
  if (asynchronous.length === 0) return [];
  const answer = await check(run, phase, asynchronous, shaped, reply);
  const results: unknown = answer === null || answer.hookResultsJson.length === 0 ? [] : jsonOf(answer.hookResultsJson);
  return Array.isArray(results) ? results : [];
}

async function check(
  run: Run,
  phase: "before" | "after",
  hooks: readonly HookRule[],
  shaped: ShapedBody,
  reply: { readonly status: number; readonly body: Buffer } | null,
): Promise<CheckReply | null> {
  const { request, deps } = run;
  const startedAt = deps.clock.now();
  try {
    return await deps.guardrail.check(
      {
        tenant: request.principal.tenant,
        phase,
        hooks: hooks.map((hook) => ({ id: hook.id, inlineJson: hook.inlineJson ?? NOTHING, version: "", sealed: undefined })),
        body: shaped.body,
        replyBody: reply?.body ?? NOTHING,
        status: reply?.status ?? 0,
        facts: factsOf(run, shaped.model, shaped.stream),
        headers: [],
      },
      { ...request.call, deadline: Math.min(run.call.deadline, deps.clock.now() + CHECK_DEADLINE_MS) },
    );
  } catch (error) {
    if (run.call.cancel.cancelled) throw error;
    deps.log.warn({ traceId: request.trace.traceId, error: String(error) }, "guardrail is unavailable; its checks count as errored");
    return null;
  } finally {
    run.hooks.guardrailMs = (run.hooks.guardrailMs ?? 0) + deps.clock.now() - startedAt;
  }
}

/** Whether a hook could deny: a saved one might, so only an inline one that says no is sure not to. */
export function mayDeny(hook: HookRule): boolean {
  if (hook.async) return false;
  if (hook.inlineJson === null) return true;
  const json = jsonOf(hook.inlineJson);
  if (!isObject(json)) return true;
  const onSuccess = json["on_success"];
  return json["deny"] === true || (isObject(onSuccess) && onSuccess["deny"] === true) || !Array.isArray(json["checks"]);
}
