import type { LogDraft } from "@unigate/events";
import type { Run } from "./run-state.ts";
import { type Checked, isAsync, runAsyncHooks } from "./steps/check-hooks.ts";
import type { TargetOutcome } from "./target-outcome.ts";

/** Longest that a log record waits for the hooks that run beside the request, ms: as long as any check may take. */
const LONGEST_MS = 30_000;

/** Whether hooks are left to run once the request is answered. */
export function hasAsyncHooks(run: Run): boolean {
  const { before, after } = run.hooks.resolved;
  return before.some(isAsync) || after.some(isAsync);
}

/**
 * Runs the hooks that nobody waits for, then leaves the log record of the answered target with their results in it.
 * A record is written once and there is one a target, so the record waits: the client has its answer, and what these
 * hooks say is only there to be read in the log. Without room, without the service, and when the process ends, the
 * record goes out without them. `body` null = there is no answer to check.
 */
export function recordWithAsyncHooks(run: Run, outcome: TargetOutcome, draft: LogDraft, body: Buffer | null): void {
  const { background, clock, spool } = run.deps;
  const { trace } = run.request;
  const { resolved } = run.hooks;
  const deadline = clock.now() + LONGEST_MS;
  const call = { traceId: trace.traceId, traceparent: trace.traceparent, deadline, cancel: background.cancel };
  const about = { provider: outcome.target?.provider.id ?? "", shaped: outcome.shaped };
  const before: Checked = { ...about, phase: "before", reply: null };
  const after: Checked | null = body === null ? null : { ...about, phase: "after", reply: { status: outcome.result.status, body } };
  const work = async (): Promise<void> => {
    try {
      if (background.cancel.cancelled) return;
      const [said, saidAfter] = await Promise.all([
        runAsyncHooks(run, resolved.before, before, call),
        after === null ? [] : runAsyncHooks(run, resolved.after, after, call),
      ]);
      addResults(draft, said, saidAfter);
    } finally {
      spool.offer(draft, run.spoolNumber, true);
    }
  };
  if (!background.run(work, outcome.shaped.body.length + (body?.length ?? 0))) spool.offer(draft, run.spoolNumber, true);
}

/** Behind the results that the answer told, which may be none. */
function addResults({ head }: LogDraft, before: readonly unknown[], after: readonly unknown[]): void {
  if (before.length + after.length === 0) return;
  const told = head.hook_results as { before_request_hooks: unknown[]; after_request_hooks: unknown[] } | null;
  head.hook_results = {
    before_request_hooks: [...(told?.before_request_hooks ?? []), ...before],
    after_request_hooks: [...(told?.after_request_hooks ?? []), ...after],
  };
}
