import type { End, Failure, Usage } from "@unigate/contracts";
import { type GatewayError, newUuid } from "@unigate/core";
import { cutMessage, cutMetadata, type DraftMessage, type LogDraft, type LogHead, newHead, usageOfRecord } from "@unigate/events";
import { succeeded } from "./attempt-result.ts";
import { answeredStatus, type Run } from "./run-state.ts";
import { serverAddress } from "./server-address.ts";
import { settle } from "./steps/settle.ts";
import type { TargetOutcome } from "./target-outcome.ts";
import { decisionRecord } from "./tried.ts";

/** How an attempt ended, as far as its outcome does not say. */
export interface Ending {
  /** Body of the answer as it was sent; null for a stream, whose `end` holds it assembled. */
  readonly body?: Buffer | null;
  readonly end?: End | null;
  /** An in-band failure of a stream. */
  readonly failure?: Failure | null;
  /** Of a stream, from the start of the attempt to its first content; null when there was none. */
  readonly firstTokenMs?: number | null;
  /** The client left. */
  readonly cancelled?: boolean;
}

/** Usage of an attempt, from its answer or from the end of its stream. */
export function usageOf(outcome: TargetOutcome, end: End | null | undefined): Usage | null {
  return end?.usage ?? outcome.result.usage;
}

/** An admitted request: should this process die, what is left of it becomes a record with the outcome "interrupted". */
export function recordStart(run: Run): number {
  const { request } = run;
  const { tenant, key } = request.principal;
  return run.deps.spool.started({
    time: request.receivedAt,
    traceId: request.trace.traceId,
    spanId: request.trace.spanId,
    parentSpanId: request.trace.parentSpanId,
    spanName: request.trace.spanName,
    sampled: request.trace.sampled,
    requestId: request.requestId,
    organisationId: tenant.organisationId,
    workspaceId: tenant.workspaceId,
    apiKeyId: key.id,
    surface: request.surface,
    method: request.method,
    path: request.path,
  });
}

/** Settles a target tried that is not the last, and leaves its log record. Never waits, never throws. */
export function recordAttempt(run: Run, outcome: TargetOutcome): void {
  const draft = draftAttempt(run, outcome, {});
  settle(run, outcome, { usage: usageOf(outcome, null), costMicro: draft.head.cost_micro_usd }, false);
  run.deps.spool.offer(draft, run.spoolNumber, false);
}

/** The log record of a target tried. */
export function draftAttempt(run: Run, outcome: TargetOutcome, ending: Ending): LogDraft {
  const { deps, request } = run;
  const { result, target, leaf, shaped } = outcome;
  const now = deps.clock.now();
  const head = headOf(run, outcome.startedAt);
  const failure = ending.failure ?? result.failure;
  head.attempt = outcome.attempt;
  head.option_path = leaf.optionPath;
  head.provider = target?.provider.id ?? null;
  head.server_address = target === null ? null : serverAddress(target);
  head.provider_slug = target === null || target.slug === "" ? null : target.slug;
  head.model = shaped.model === "" ? null : shaped.model;
  const responseModel = ending.end?.model ?? result.model;
  head.response_model = responseModel === "" ? null : responseModel;
  head.stream = shaped.stream;
  head.status = ending.cancelled === true ? 499 : failure === null ? answeredStatus(run, result.status) : failure.status;
  head.outcome = outcomeWord(outcome, ending, failure);
  head.error = failure === null ? null : faultOf(failure);
  const usage = usageOf(outcome, ending.end);
  head.usage = usageOfRecord(usage);
  head.cost_micro_usd = costOf(run, head, outcome, usage);
  head.cache_status = outcome.cache.status;
  head.retries = [...outcome.retries];
  const finish = ending.end?.finishReason ?? result.finishReason;
  head.finish_reason = finish === "" ? null : finish;
  head.timings.total_ms = Math.max(0, now - outcome.startedAt);
  head.timings.upstream_ms = result.timings.upstreamMs;
  head.timings.retry_wait_ms = outcome.retries.reduce((sum, retry) => sum + retry.wait_ms, 0);
  head.timings.first_token_ms = ending.firstTokenMs ?? null;
  head.timings.cache_ms = run.hooks.cacheMs;
  head.timings.cache_at_ms = run.hooks.cacheAt === null ? null : Math.max(0, run.hooks.cacheAt - outcome.startedAt);
  head.timings.guardrail_ms = run.hooks.guardrailMs;
  const { before, after } = run.hooks;
  if (before.length + after.length > 0) head.hook_results = { before_request_hooks: [...before], after_request_hooks: [...after] };
  const keepBodies = request.headers["x-gateway-debug"] !== "false";
  const answer =
    ending.body ??
    (ending.end === null || ending.end === undefined || ending.end.assembled.length === 0 ? result.body : ending.end.assembled);
  return {
    head,
    request: message(keepBodies ? shaped.body : null, shaped.json !== null),
    response: message(keepBodies ? answer : null, request.surface !== "proxy" && answer !== null && answer.length > 0),
  };
}

/** A stored answer costs nothing; one that said nothing of its usage has no known cost. */
function costOf(run: Run, head: LogHead, outcome: TargetOutcome, usage: Usage | null): number | null {
  if (outcome.cache.hit !== null) return 0;
  if (usage === null || head.provider === null) return null;
  const { provider, model, response_model: responseModel } = head;
  return run.deps.prices.costOf({ provider, model, responseModel, usage, time: outcome.startedAt });
}

/** A record for a request that was refused before any target was tried. */
export function recordRefusal(run: Run, error: GatewayError): void {
  const head = headOf(run, run.request.receivedAt);
  head.status = error.status;
  head.outcome = error.code === "client_closed" ? "cancelled" : "refused";
  const model = run.request.json?.["model"];
  head.model = typeof model === "string" ? model : null;
  head.stream = run.request.json?.["stream"] === true;
  head.error = {
    code: error.code,
    type: error.type,
    message: cutMessage(error.message),
    blame: error.status >= 500 ? "gateway" : "client",
  };
  head.last = true;
  head.timings.total_ms = Math.max(0, run.deps.clock.now() - run.request.receivedAt);
  const keepBodies = run.request.headers["x-gateway-debug"] !== "false";
  const request = message(keepBodies ? run.request.body : null, run.request.json !== null);
  run.deps.spool.offer({ head, request, response: null }, run.spoolNumber, true);
}

function headOf(run: Run, time: number): LogHead {
  const { request, config } = run;
  const head = newHead(newUuid(time), time);
  head.trace_id = request.trace.traceId;
  head.span_id = request.trace.spanId;
  head.parent_span_id = request.trace.parentSpanId === "" ? null : request.trace.parentSpanId;
  if (request.trace.spanName !== "") head.span_name = request.trace.spanName;
  head.sampled = request.trace.sampled;
  head.request_id = request.requestId;
  head.received_at = request.receivedAt;
  head.organisation_id = request.principal.tenant.organisationId;
  head.workspace_id = request.principal.tenant.workspaceId;
  head.api_key_id = request.principal.key.id;
  head.config_id = config.id === "" ? null : config.id;
  head.config_version = config.version === "" ? null : config.version;
  head.surface = request.surface;
  head.method = request.method;
  head.path = request.path;
  head.metadata = cutMetadata(run.metadata);
  head.decision = decisionRecord(run);
  if (run.planning !== null) {
    head.timings.plan_at_ms = Math.max(0, run.planning.at - request.receivedAt);
    head.timings.plan_ms = run.planning.tookMs;
  }
  return head;
}

function outcomeWord(outcome: TargetOutcome, ending: Ending, failure: Failure | null): LogHead["outcome"] {
  if (ending.cancelled === true || failure?.code === "client_closed") return "cancelled";
  if (failure?.type === "hooks_failed") return "denied";
  if (failure === null && outcome.cache.hit !== null) return "cache_hit";
  return failure === null && succeeded(outcome.result.status) ? "success" : "failed";
}

function faultOf(failure: Failure): NonNullable<LogHead["error"]> {
  const network = failure.code === "upstream_unreachable" || failure.code === "upstream_connect_timeout";
  const blame = network
    ? "network"
    : failure.code === "internal" || failure.code === "service_unavailable"
      ? "gateway"
      : failure.status < 500
        ? "client"
        : "upstream";
  return { code: failure.code === "" ? null : failure.code, type: failure.type, message: cutMessage(failure.message), blame };
}

function message(body: Buffer | null, json: boolean): DraftMessage | null {
  return body === null || body.length === 0 ? null : { headers: null, body, json, truncated: false };
}
