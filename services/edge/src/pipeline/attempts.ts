import type { PlanNode, PlanSequence } from "@unigate/core";
import { type CompiledLeaf, GatewayError, sleep } from "@unigate/core";
import { type AttemptResult, failedAttempt } from "./attempt-result.ts";
import { goesOn, leave } from "./goes-on.ts";
import { attemptHedge } from "./hedge.ts";
import { noteContentTime } from "./hedge-delay.ts";
import { type AdmittedTarget, admitTarget, refuseModel } from "./prepare-target.ts";
import { answeredStatus, type Run } from "./run-state.ts";
import { callConnector, cancelError } from "./steps/call.ts";
import { runHooks } from "./steps/check-hooks.ts";
import { decideRetry } from "./steps/decide.ts";
import { type CacheView, lookUp } from "./steps/look-up.ts";
import { beginTarget, reportOutcome } from "./steps/report-outcome.ts";
import { resolveHooks } from "./steps/resolve-hooks.ts";
import type { ResolvedTarget } from "./steps/resolve-target.ts";
import { rewriteBody, type ShapedBody } from "./steps/shape-body.ts";
import type { RetryRecord, TargetOutcome } from "./target-outcome.ts";
import { noteTried } from "./tried.ts";

/**
 * Walks the plan: a leaf is tried, a sequence goes on while the status of a step is in its set, two targets of a hedge
 * may run beside each other. The last outcome is the answer whatever it is; every one before it is logged and left.
 * `first` = the first leaf, admitted before.
 */
export async function attemptPlan(run: Run, plan: PlanNode, first: AdmittedTarget | null): Promise<TargetOutcome> {
  const { kind } = plan;
  if (kind?.$case === "leaf") {
    beginTarget(run, kind.value);
    const tried = await attemptTarget(run, first ?? (await admitTarget(run, kind.value)));
    noteTried(run, tried);
    if (run.config.compiled.hedges.size > 0) noteContentTime(run, tried);
    return reportOutcome(run, kind.value, tried);
  }
  if (kind?.$case === "hedge") return attemptHedge(run, kind.value, first, attemptPlan);
  const { steps, onStatuses, anyNon2xx } = kind?.value ?? NO_STEPS;
  let outcome: TargetOutcome | null = null;
  for (const [index, step] of steps.entries()) {
    outcome = await attemptPlan(run, step, index === 0 ? first : null);
    if (index === steps.length - 1 || !goesOn(run, outcome, anyNon2xx ? null : onStatuses)) return outcome;
    await leave(run, outcome);
  }
  if (outcome === null) throw new GatewayError("no_target");
  return outcome;
}

const NO_STEPS: PlanSequence = { steps: [], onStatuses: [], anyNon2xx: false };
const NO_CACHE: CacheView = { status: "DISABLED", hit: null, fillToken: "", maxAge: 0 };

/** check-input, look-up, then call and check-output until done; of a target at its limit only a stored answer is given. */
async function attemptTarget(run: Run, admitted: AdmittedTarget): Promise<TargetOutcome> {
  const { attempt, leaf, target, limited, startedAt } = admitted;
  let { shaped } = admitted;
  let cache = NO_CACHE;
  const ended = (result: AttemptResult): TargetOutcome => ({
    result,
    attempt,
    called: false,
    leaf,
    target,
    shaped,
    cache,
    retries: [],
    retryCount: 0,
    startedAt,
  });
  if (run.call.cancel.cancelled) return ended(failedAttempt(cancelError(run.call), true));
  if (target === null || admitted.failure !== null) return ended(admitted.failure ?? failedAttempt(new GatewayError("no_target")));
  if (limited !== null && leaf.cache === null) return ended(failedAttempt(limited));
  try {
    run.hooks.resolved = await resolveHooks(run, leaf);
    const before = await runHooks(run, { phase: "before", provider: target.provider.id, shaped, reply: null });
    if (before.verdict === "deny")
      return ended(failedAttempt(new GatewayError("hooks_failed", "The guardrail checks on the request failed.")));
    if (before.rewritten !== null) {
      shaped = rewriteBody(shaped, before.rewritten);
      refuseModel(run, target, shaped.model);
    }
    cache = await lookUp(run, leaf.cache, target, shaped);
    // Stored by whoever asked first, perhaps without these checks.
    if (cache.hit !== null) return ended(await checkOutput(run, target, shaped, hitResult(cache.hit.body, cache.hit.headers)));
  } catch (error) {
    if (run.call.cancel.cancelled) return ended(failedAttempt(cancelError(run.call), true));
    if (!(error instanceof GatewayError)) throw error;
    return ended(failedAttempt(error));
  }
  if (limited !== null) return ended(failedAttempt(limited));
  const { result, retries, retryCount } = await callWithRetries(run, leaf, target, shaped, startedAt);
  return { result, attempt, called: true, leaf, target, shaped, cache, retries, retryCount, startedAt };
}

function hitResult(body: Buffer, headers: AttemptResult["headers"]): AttemptResult {
  return {
    status: 200,
    headers,
    body,
    stream: null,
    failure: null,
    retryAfterMs: null,
    usage: null,
    model: "",
    finishReason: "",
    final: false,
    timings: { upstreamMs: 0 },
  };
}

/** Calls until the outcome is no reason for a retry, or no retry is left. A streamed upload is sent once. */
async function callWithRetries(
  run: Run,
  leaf: CompiledLeaf,
  target: ResolvedTarget,
  shaped: ShapedBody,
  startedAt: number,
): Promise<Pick<TargetOutcome, "result" | "retries" | "retryCount">> {
  const { call } = run;
  const rule = run.request.upload === null ? leaf.retry : null;
  const retries: RetryRecord[] = [];
  const { softStatus } = run.hooks;
  let waitedMs = 0;
  for (;;) {
    run.hooks.softStatus = softStatus;
    const triedAt = run.deps.clock.now();
    const result = await checkOutput(run, target, shaped, await callConnector(run, leaf, target, shaped));
    if (call.cancel.cancelled) return { result, retries, retryCount: retries.length };
    const status = answeredStatus(run, result.status);
    const decision = decideRetry(rule, result, { status, made: retries.length, waitedMs }, run.deps);
    if (decision.kind === "done") return { result, retries, retryCount: retries.length };
    if (decision.kind === "give_up") return { result, retries, retryCount: -1 };
    await result.stream?.parts.return?.();
    retries.push({
      at_ms: Math.max(0, triedAt - startedAt),
      took_ms: Math.max(0, run.deps.clock.now() - triedAt),
      status,
      wait_ms: decision.waitMs,
      error: result.failure?.code ?? null,
    });
    waitedMs += decision.waitMs;
    if (!(await sleep(decision.waitMs, call.cancel)))
      return { result: failedAttempt(cancelError(call), true), retries, retryCount: retries.length };
  }
}

/** The output hooks of an answer that is there whole. Streams are checked where they are written. */
async function checkOutput(run: Run, target: ResolvedTarget, shaped: ShapedBody, result: AttemptResult): Promise<AttemptResult> {
  if (run.hooks.resolved.after.length === 0 || result.body === null || result.status !== 200 || run.request.surface === "proxy")
    return result;
  run.hooks.after.length = 0;
  const after = await runHooks(run, {
    phase: "after",
    provider: target.provider.id,
    shaped,
    reply: { status: result.status, body: result.body },
  });
  if (after.verdict === "deny") {
    return {
      ...failedAttempt(new GatewayError("hooks_failed", "The guardrail checks on the answer failed.")),
      usage: result.usage,
      model: result.model,
      timings: result.timings,
    };
  }
  const body = after.rewritten ?? result.body;
  return after.verdict === "soft" ? { ...result, body, status: 246 } : { ...result, body };
}
