import { isObject, w3cSpanId, w3cTraceId } from "@unigate/core";
import type { LogHead } from "@unigate/events";
import type { AttributeValue, Span } from "./span.ts";
import { type SpanIds, spanIdsOf } from "./span-ids.ts";
import { errorType, operationOf, put, targetAttributes } from "./target-attributes.ts";

/** Longest name and text of an attribute, characters; most children of a target, and most metadata of a request. */
const MAX_TEXT = 256;
const MAX_CHILDREN = 64;
const MAX_METADATA = 32;

/**
 * The spans of a record: of the target that was tried, with its tries, its guardrails and its look-up in the cache, and
 * of the whole request and its plan when the record is its last. The same record gives the same spans.
 */
export function spansOf(head: LogHead): Span[] {
  const traceId = w3cTraceId(head.trace_id === "" ? head.id : head.trace_id);
  const requestSpan = w3cSpanId(head.span_id === "" ? head.request_id : head.span_id);
  const spans: Span[] = [];
  const ids = spanIdsOf(head.id);
  if (head.last === true) {
    spans.push(requestSpanOf(head, traceId, requestSpan));
    for (const part of planned(head)) spans.push({ ...part, traceId, spanId: ids.child(MAX_CHILDREN), parentSpanId: requestSpan });
  }
  if (head.provider === null) return spans;
  spans.push(targetSpan(head, traceId, ids.target, requestSpan), ...children(head, traceId, ids));
  return spans;
}

/** The whole request, by the HTTP conventions of a server. */
function requestSpanOf(head: LogHead, traceId: string, spanId: string): Span {
  const start = head.received_at ?? head.time;
  const path = `/v1${head.path}`;
  const isRoute = head.surface !== "proxy";
  const attributes: Record<string, AttributeValue> = { "http.request.method": head.method, "url.path": cut(path) };
  if (isRoute) attributes["http.route"] = path;
  if (head.status > 0) attributes["http.response.status_code"] = head.status;
  if (head.status >= 500 || head.outcome === "interrupted") put(attributes, "error.type", errorType(head));
  attributes["unigate.request.id"] = head.request_id;
  attributes["unigate.organisation.id"] = head.organisation_id;
  attributes["unigate.workspace.id"] = head.workspace_id;
  put(attributes, "unigate.api_key.id", head.api_key_id);
  put(attributes, "unigate.config.id", head.config_id);
  if (head.trace_id !== traceId) attributes["unigate.trace.id"] = head.trace_id;
  for (const name of Object.keys(head.metadata).slice(0, MAX_METADATA))
    attributes[`unigate.metadata.${name.slice(0, MAX_TEXT)}`] = head.metadata[name] ?? "";
  return {
    traceId,
    spanId,
    parentSpanId: head.parent_span_id === null ? "" : w3cSpanId(head.parent_span_id),
    name: cut(head.span_name !== "" && head.span_name !== UNNAMED ? head.span_name : isRoute ? `${head.method} ${path}` : head.method),
    kind: "server",
    start,
    end: Math.max(start, endOf(head)),
    attributes,
    error: head.status >= 500 || head.outcome === "interrupted" ? messageOf(head) : null,
  };
}

/** The choice of targets, of a request that left something to choose. */
function planned({ received_at: received, timings, decision }: LogHead): Part[] {
  const { plan_at_ms: at, plan_ms: took } = timings;
  if (received === undefined || at === undefined || at === null || took === undefined || took === null) return [];
  const attributes: Record<string, AttributeValue> = {};
  if (typeof decision?.["degraded"] === "string") attributes["unigate.plan.degraded"] = cut(decision["degraded"]);
  return [{ name: "plan", kind: "internal", start: received + at, end: received + at + took, attributes, error: null }];
}

/** What a record says when the client did not name its span. */
const UNNAMED = "llm";

/** One target, by the GenAI conventions of a client. A stored answer called nobody. */
function targetSpan(head: LogHead, traceId: string, spanId: string, parentSpanId: string): Span {
  const operation = operationOf(head);
  const words = [operation ?? head.method, head.model].filter((word) => word !== null);
  return {
    traceId,
    spanId,
    parentSpanId,
    name: cut(words.join(" ")),
    kind: head.outcome === "cache_hit" ? "internal" : "client",
    start: head.time,
    end: endOf(head),
    attributes: targetAttributes(head),
    error: errorType(head) === null ? null : messageOf(head),
  };
}

/** The tries, the hooks and the look-up, as far as the record holds their times. */
function children(head: LogHead, traceId: string, ids: SpanIds): Span[] {
  const parts = [...lookUp(head), ...hooks(head), ...tries(head)].slice(0, MAX_CHILDREN);
  return parts.map((part, number) => ({ ...part, traceId, spanId: ids.child(number), parentSpanId: ids.target }));
}

type Part = Omit<Span, "traceId" | "spanId" | "parentSpanId">;

function lookUp({ time, timings, cache_status: status }: LogHead): Part[] {
  const { cache_at_ms: at, cache_ms: took } = timings;
  if (at === undefined || at === null || took === null) return [];
  const attributes = status === null ? {} : { "unigate.cache.status": status };
  return [{ name: "cache look-up", kind: "internal", start: time + at, end: time + at + took, attributes, error: null }];
}

/** A target that was tried once needs no try beside it. */
function tries(head: LogHead): Part[] {
  const { retries, time, method, status } = head;
  const parts: Part[] = [];
  let next = 0;
  for (const [index, retry] of retries.entries()) {
    const { at_ms: at, took_ms: took } = retry;
    if (at === undefined || took === undefined) return [];
    parts.push(tryPart(method, index, time + at, time + at + took, retry.status, retry.error));
    next = at + took + retry.wait_ms;
  }
  if (parts.length === 0) return [];
  const start = time + next;
  parts.push(tryPart(method, retries.length, start, Math.max(start, endOf(head)), status, errorType(head)));
  return parts;
}

function tryPart(method: string, number: number, start: number, end: number, status: number | null, failure: string | null): Part {
  const attributes: Record<string, AttributeValue> = { "http.request.method": method };
  if (number > 0) attributes["http.request.resend_count"] = number;
  put(attributes, "http.response.status_code", status);
  const isError = failure !== null || (status !== null && status >= 400);
  if (isError) attributes["error.type"] = failure ?? String(status);
  return { name: method, kind: "client", start, end, attributes, error: isError ? (failure ?? String(status)) : null };
}

function hooks({ hook_results: results }: LogHead): Part[] {
  if (!isObject(results)) return [];
  return (["before_request_hooks", "after_request_hooks"] as const).flatMap((phase) => {
    const list = results[phase];
    return Array.isArray(list) ? list.slice(0, MAX_CHILDREN).flatMap((one: unknown) => hookPart(phase, one)) : [];
  });
}

function hookPart(phase: "before_request_hooks" | "after_request_hooks", result: unknown): Part[] {
  if (!isObject(result)) return [];
  const { id, created_at: createdAt, execution_time: took, verdict } = result;
  const start = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
  if (typeof id !== "string" || Number.isNaN(start) || typeof took !== "number" || !(took >= 0)) return [];
  const attributes: Record<string, AttributeValue> = {
    "unigate.guardrail.id": cut(id),
    "unigate.guardrail.phase": phase === "before_request_hooks" ? "before" : "after",
    "unigate.guardrail.verdict": verdict === true ? "pass" : "fail",
  };
  return [{ name: cut(`guardrail ${id}`), kind: "internal", start, end: start + took, attributes, error: null }];
}

function endOf({ time, timings }: LogHead): number {
  return time + timings.total_ms;
}

function messageOf({ error, outcome }: LogHead): string {
  return cut(error?.message ?? outcome);
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : text.slice(0, MAX_TEXT);
}
