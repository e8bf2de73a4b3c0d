import type { End, Failure } from "@unigate/contracts";
import { bufferOfJson, errorBody, GatewayError } from "@unigate/core";
import { asStream } from "./as-stream.ts";
import type { OpenStream } from "./attempt-result.ts";
import { finishRun } from "./finish.ts";
import type { Run } from "./run-state.ts";
import { cancelError } from "./steps/call.ts";
import { isSync, runHooks } from "./steps/check-hooks.ts";
import { storeAnswer } from "./steps/look-up.ts";
import type { TargetOutcome } from "./target-outcome.ts";

/** Most text held back while an output check that can deny waits for the whole answer (DESIGN 8.22). */
const MAX_HELD_BYTES = 64 * 1024;

/**
 * The bytes of a streamed answer. An upstream that breaks off ends in an in-band error and never in `[DONE]`; a
 * reader that stops early cancels the upstream. Settles and logs once, at the end, however it comes.
 */
export async function* streamReply(run: Run, outcome: TargetOutcome, stream: OpenStream, done: () => void): AsyncGenerator<Uint8Array> {
  const hooks = run.hooks.resolved.after;
  const proxied = run.request.surface === "proxy";
  const held: Buffer[] | null = !proxied && hooks.some((hook) => hook.mayDeny) ? [] : null;
  let heldBytes = 0;
  let end: End | null = null;
  let failure: Failure | null = null;
  let finished = false;
  let firstTokenMs: number | null = null;
  try {
    if (run.hooks.before.length > 0 && isLoose(outcome)) yield hookResultsEvent(run);
    for (;;) {
      const next = await stream.parts.next();
      if (next.done === true) break;
      const { chunk, end: last } = next.value;
      if (last !== undefined) end = last;
      if (chunk === undefined) continue;
      firstTokenMs ??= run.deps.clock.now() - outcome.startedAt;
      if (held === null) {
        yield chunk.data;
        continue;
      }
      held.push(chunk.data);
      heldBytes += chunk.data.length;
      if (heldBytes > MAX_HELD_BYTES) {
        failure = deniedFailure("The answer is longer than an output check can hold back.");
        break;
      }
    }
    failure ??= end === null ? brokenFailure() : (end.failure ?? null);
    if (held !== null && failure === null) {
      const screened = await screen(run, outcome, end);
      if (screened.failure !== null) failure = screened.failure;
      else yield* screened.rewritten ?? held;
    } else if (failure === null && end !== null && !proxied && hooks.some(isSync)) {
      await screen(run, outcome, end);
      if (isLoose(outcome)) yield hookResultsEvent(run);
    }
    if (failure !== null && !proxied) yield errorEvent(run, outcome, failure);
    else if (failure !== null) throw new GatewayError("upstream_incomplete");
    if (failure === null && end !== null) storeStream(run, outcome, end);
    finished = true;
  } catch (error) {
    if (proxied) throw error;
    const known = run.call.cancel.cancelled
      ? cancelError(run.call)
      : error instanceof GatewayError
        ? error
        : new GatewayError("service_unavailable");
    if (known.code === "internal" || known.code === "service_unavailable")
      run.deps.log.error({ traceId: run.request.trace.traceId, error: String(error) }, "stream failed");
    failure = { code: known.code, message: known.message, param: "", status: known.status, type: known.type };
    finished = true;
    yield errorEvent(run, outcome, failure);
  } finally {
    if (!finished || failure !== null) await stream.parts.return?.();
    const cancelled = run.call.cancel.reason === "client_gone" || (!finished && failure === null);
    finishRun(run, outcome, { body: null, end, cancelled, failure, firstTokenMs });
    done();
  }
}

/**
 * Runs the output hooks over the assembled answer. They can deny or rewrite it only while it is held back; the status
 * has gone out and stays.
 */
async function screen(run: Run, outcome: TargetOutcome, end: End | null): Promise<{ failure: Failure | null; rewritten: Buffer[] | null }> {
  if (end === null || end.assembled.length === 0) return { failure: deniedFailure("The answer could not be checked."), rewritten: null };
  const { softStatus } = run.hooks;
  const checked = await runHooks(run, {
    phase: "after",
    provider: outcome.target?.provider.id ?? "",
    shaped: outcome.shaped,
    reply: { status: 200, body: end.assembled },
  });
  run.hooks.softStatus = softStatus;
  if (checked.verdict === "deny") return { failure: deniedFailure("The guardrail checks on the answer failed."), rewritten: null };
  return { failure: null, rewritten: checked.rewritten === null ? null : [asStream(outcome, checked.rewritten)] };
}

/** What is not strictly in the shape of the OpenAI API (`x-gateway-strict-openai-compliance: false`). */
function isLoose(outcome: TargetOutcome): boolean {
  return outcome.target?.target.strict === false;
}

function storeStream(run: Run, outcome: TargetOutcome, end: End): void {
  if (!end.complete || end.assembled.length === 0 || run.hooks.before.length + run.hooks.after.length > 0) return;
  storeAnswer(run, outcome.cache, {
    body: end.assembled,
    headers: [],
    storedAt: run.deps.clock.now(),
    usage: end.usage,
    surface: run.request.surface,
  });
}

function deniedFailure(message: string): Failure {
  return { code: "hooks_failed", message, param: "", status: 446, type: "hooks_failed" };
}

function brokenFailure(): Failure {
  const error = new GatewayError("upstream_incomplete");
  return { code: error.code, message: error.message, param: "", status: error.status, type: error.type };
}

/** An error inside a started stream: the envelope as data, and then the end without `[DONE]` (DESIGN 8.8). */
function errorEvent(run: Run, outcome: TargetOutcome, failure: Failure): Buffer {
  const envelope: Record<string, unknown> = errorBody({
    message: failure.message,
    type: failure.type,
    param: failure.param === "" ? null : failure.param,
    code: failure.code,
  });
  if (outcome.target !== null) envelope["provider"] = outcome.target.provider.id;
  if (failure.type === "hooks_failed") envelope["hook_results"] = hookResults(run);
  return Buffer.from(`data: ${bufferOfJson(envelope).toString("utf8")}\n\n`);
}

function hookResultsEvent(run: Run): Buffer {
  return Buffer.from(`data: ${JSON.stringify({ hook_results: hookResults(run) })}\n\n`);
}

function hookResults(run: Run): { before_request_hooks: unknown[]; after_request_hooks: unknown[] } {
  return { before_request_hooks: run.hooks.before, after_request_hooks: run.hooks.after };
}
