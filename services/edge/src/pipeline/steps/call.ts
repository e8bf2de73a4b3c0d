import type { End, Head, InvokeRequest, ReplyPart } from "@unigate/contracts";
import { type Call, type CompiledLeaf, ERRORS, GatewayError, toGatewayError } from "@unigate/core";
import { isRpcError } from "@unigate/rpc";
import { type AttemptResult, failedAttempt } from "../attempt-result.ts";
import { proxiedHeaders } from "../forwarded-headers.ts";
import type { Run } from "../run-state.ts";
import type { ResolvedTarget } from "./resolve-target.ts";
import type { ShapedBody } from "./shape-body.ts";

/** Most bytes of an error body that came as a stream. */
const MAX_ERROR_BODY = 1024 * 1024;
const NO_DROP: string[] = [];
/** Client headers that a provider's transform may want to see. */
const PROVIDER_HEADERS = [
  ["anthropic-beta", "x-gateway-anthropic-beta"],
  ["anthropic-version", "x-gateway-anthropic-version"],
  ["openai-beta", "x-gateway-openai-beta"],
] as const;

/**
 * One exchange with the upstream through the connector. The upstream's answer and its failures are values; a fault
 * of the connector is a failed attempt that no fallback follows.
 */
export async function callConnector(run: Run, leaf: CompiledLeaf, target: ResolvedTarget, shaped: ShapedBody): Promise<AttemptResult> {
  const invoke = invokeRequest(run, leaf, target, shaped);
  const { connector } = run.deps;
  const { call } = run;
  const { upload, surface } = run.request;
  try {
    if (upload !== null) return await openStream(connector.exchange(uploadParts(invoke, upload), call));
    if (shaped.stream || surface === "proxy") return await openStream(connector.invokeStream(invoke, call));
    const reply = await connector.invoke(invoke, call);
    const head = headOf(reply.head);
    return result(head, reply.body, null, reply.usage ?? null, reply.model, reply.finishReason);
  } catch (error) {
    return connectorFault(run, call, error);
  }
}

/** What the connector is asked for. */
export function invokeRequest(run: Run, leaf: CompiledLeaf, target: ResolvedTarget, shaped: ShapedBody): InvokeRequest {
  const { request, deps } = run;
  const proxied = request.surface === "proxy";
  const longest = deps.limits.maxRequestMs;
  const headersMs = request.requestTimeoutMs ?? leaf.requestTimeoutMs ?? 0;
  const streamOptions = shaped.json?.["stream_options"] as { include_usage?: unknown } | undefined | null;
  return {
    attemptId: `${request.requestId}-${run.attempts}`,
    tenant: request.principal.tenant,
    target: target.target,
    surface: request.surface,
    method: request.method,
    pathAndQuery: proxied ? request.path + request.query : "",
    headers: proxied ? proxiedHeaders(request.headers) : providerHeaders(request.headers),
    body: shaped.body,
    drop: leaf.dropParams.length === 0 ? NO_DROP : [...leaf.dropParams],
    timeouts: {
      connectMs: Math.min(leaf.timeouts.connectMs, longest),
      headersMs: Math.min(headersMs, longest),
      firstTokenMs: Math.min(leaf.timeouts.firstTokenMs, longest),
      idleMs: Math.min(leaf.timeouts.idleMs, longest),
      holdMs: 0,
    },
    want: {
      deltas: false,
      assembled: shaped.stream && !proxied,
      clientUsage: streamOptions?.include_usage === true,
      sentBody: false,
    },
  };
}

function providerHeaders(headers: Readonly<Record<string, string>>): { name: string; value: string }[] {
  const found: { name: string; value: string }[] = [];
  for (const [name, own] of PROVIDER_HEADERS) {
    const value = headers[name] ?? headers[own];
    if (value !== undefined) found.push({ name, value });
  }
  return found;
}

async function* uploadParts(open: InvokeRequest, upload: AsyncIterable<Buffer>) {
  yield { part: { $case: "open" as const, value: open } };
  for await (const data of upload) yield { part: { $case: "data" as const, value: data } };
  yield { part: { $case: "end" as const, value: {} } };
}

/** Reads up to the head. An error answer is read whole, so that it can be logged, retried or fallen back from. */
async function openStream(parts: AsyncIterable<ReplyPart>): Promise<AttemptResult> {
  const iterator = parts[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true || first.value.part?.$case !== "head") throw new Error("the connector sent no head");
  const head = first.value.part.value;
  if (head.status >= 200 && head.status < 400) {
    return result(head, null, { parts: afterHead(iterator) }, null, "", "");
  }
  const { body, end } = await readAll(iterator);
  return result(head, body, null, end?.usage ?? null, end?.model ?? "", end?.finishReason ?? "");
}

function afterHead(iterator: AsyncIterator<ReplyPart>) {
  return {
    async next() {
      const { done, value } = await iterator.next();
      if (done === true || value === undefined) return { done: true as const, value: undefined };
      const { part } = value;
      if (part?.$case === "chunk") return { done: false as const, value: { chunk: part.value } };
      if (part?.$case === "end") return { done: false as const, value: { end: part.value } };
      throw new Error("the connector sent a second head");
    },
    async return() {
      await iterator.return?.();
      return { done: true as const, value: undefined };
    },
  };
}

async function readAll(iterator: AsyncIterator<ReplyPart>): Promise<{ body: Buffer; end: End | undefined }> {
  const pieces: Buffer[] = [];
  let size = 0;
  let end: End | undefined;
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
    const { part } = next.value;
    if (part?.$case === "end") end = part.value;
    if (part?.$case !== "chunk" || size >= MAX_ERROR_BODY) continue;
    pieces.push(part.value.data);
    size += part.value.data.length;
  }
  return { body: Buffer.concat(pieces), end };
}

function headOf(head: Head | undefined): Head {
  if (head === undefined) throw new Error("the connector sent no head");
  return head;
}

function result(
  head: Head,
  body: Buffer | null,
  stream: AttemptResult["stream"],
  usage: AttemptResult["usage"],
  model: string,
  finishReason: string,
): AttemptResult {
  return {
    status: head.status,
    headers: head.headers,
    body,
    stream,
    failure: head.failure ?? null,
    retryAfterMs: head.retryAfterMs ?? null,
    usage,
    model,
    finishReason,
    final: false,
    timings: { upstreamMs: head.upstreamMs },
  };
}

function connectorFault(run: Run, call: Call, error: unknown): AttemptResult {
  if (call.cancel.cancelled) return failedAttempt(cancelError(call), true);
  if (error instanceof GatewayError) return failedAttempt(error, true);
  // The bound of the whole request, noticed by the other side first.
  if (isRpcError(error) && error.code === "DEADLINE_EXCEEDED") return failedAttempt(new GatewayError("upstream_timeout"), true);
  run.deps.log.error({ traceId: call.traceId, error: String(error) }, "connector call failed");
  const known = toGatewayError(error);
  return failedAttempt(new GatewayError("service_unavailable", ERRORS.service_unavailable.text, { cause: known.cause }), true);
}

/** What a cancelled call means for the one who waited. */
export function cancelError(call: Call): GatewayError {
  switch (call.cancel.reason) {
    case "deadline":
      return new GatewayError("upstream_timeout");
    case "shutdown":
      return new GatewayError("server_shutting_down");
    default:
      return new GatewayError("client_closed");
  }
}
