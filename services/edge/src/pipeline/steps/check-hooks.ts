import type { CheckReply } from "@unigate/contracts";
import { type Call, jsonOf } from "@unigate/core";
import { headersForChecks } from "../forwarded-headers.ts";
import type { Run } from "../run-state.ts";
import { factsOf } from "./facts.ts";
import type { Hook } from "./resolve-hooks.ts";
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

/** What hooks are asked about. */
export interface Checked {
  readonly phase: "before" | "after";
  /** Identifier of the provider that the request goes to. */
  readonly provider: string;
  readonly shaped: ShapedBody;
  /** The answer, in the phase "after". */
  readonly reply: { readonly status: number; readonly body: Buffer } | null;
}

/**
 * Runs the synchronous hooks of a phase and adds their results to the run. A guardrail service that is down makes
 * every check an errored one (behaviour 7.2, mesh.md section 2).
 */
export async function runHooks(run: Run, checked: Checked): Promise<HookOutcome> {
  const hooks = run.hooks.resolved[checked.phase].filter(isSync);
  if (hooks.length === 0) return PASS;
  const startedAt = run.deps.clock.now();
  let answer: CheckReply | null;
  try {
    answer = await check(run, hooks, checked, run.call);
  } finally {
    run.hooks.guardrailMs = (run.hooks.guardrailMs ?? 0) + run.deps.clock.now() - startedAt;
  }
  const verdict = answer === null ? whenErrored(hooks) : answer.verdict === "deny" ? "deny" : answer.verdict === "soft" ? "soft" : "pass";
  if (verdict === "soft") run.hooks.softStatus = 246;
  if (answer === null) return { verdict, rewritten: null };
  run.hooks[checked.phase].push(...resultsOf(answer));
  return { verdict, rewritten: answer.body.length === 0 ? null : answer.body };
}

/** Without the service every check is an errored one. */
function whenErrored(hooks: readonly Hook[]): HookOutcome["verdict"] {
  if (hooks.some((hook) => hook.whenErrored === "deny")) return "deny";
  return hooks.some((hook) => hook.whenErrored === "soft") ? "soft" : "pass";
}

/** Runs those of the hooks that are asynchronous; their results only go to the log. Rejects when the call is cancelled. */
export async function runAsyncHooks(run: Run, hooks: readonly Hook[], checked: Checked, call: Call): Promise<unknown[]> {
  const asynchronous = hooks.filter(isAsync);
  if (asynchronous.length === 0) return [];
  const answer = await check(run, asynchronous, checked, call);
  return answer === null ? [] : resultsOf(answer);
}

export function isAsync(hook: Hook): boolean {
  return hook.async;
}

export function isSync(hook: Hook): boolean {
  return !hook.async;
}

function resultsOf({ hookResultsJson }: CheckReply): unknown[] {
  const results: unknown = hookResultsJson.length === 0 ? [] : jsonOf(hookResultsJson);
  return Array.isArray(results) ? results : [];
}

/** Null = the service could not be asked. */
async function check(run: Run, hooks: readonly Hook[], checked: Checked, call: Call): Promise<CheckReply | null> {
  const { request, deps } = run;
  const { phase, provider, shaped, reply } = checked;
  const names = hooks.flatMap((hook) => hook.forwardHeaders);
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
        headers: headersForChecks(request.headers, names, request.trace.traceparent),
        provider,
      },
      { ...call, deadline: Math.min(call.deadline, deps.clock.now() + CHECK_DEADLINE_MS) },
    );
  } catch (error) {
    if (call.cancel.cancelled) throw error;
    deps.log.warn({ traceId: request.trace.traceId, error: String(error) }, "guardrail is unavailable; its checks count as errored");
    return null;
  }
}
