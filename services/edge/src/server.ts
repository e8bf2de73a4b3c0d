import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { CancelToken, GatewayError, newUuid, startTrace, type TraceContext, toGatewayError } from "@unigate/core";
import { answerHealth } from "@unigate/runtime";
import { authenticate } from "./authenticate.ts";
import { type ClientHeaders, readHeaders } from "./client-headers.ts";
import type { EdgeDeps } from "./deps.ts";
import type { AnsweredBy } from "./edge-metrics.ts";
import { errorReply } from "./endpoints/error-reply.ts";
import { serveBridge } from "./http/bridges.ts";
import { causeText } from "./http/cause-text.ts";
import { answerCors } from "./http/cors.ts";
import { serveExplain } from "./http/explain.ts";
import { type Incoming, serveChat, serveProxy } from "./http/inference.ts";
import { NO_HOST, refuseWhatIsNoRequest } from "./http/no-request.ts";
import { createPages, isPage } from "./http/pages.ts";
import { writeUnary } from "./http/write-reply.ts";
import { refuseExpired, requireScope } from "./principal.ts";
import type { BodyBudget } from "./read-body.ts";
import { matchRoute, PROXY_ROUTE } from "./routes.ts";
import { traceOf } from "./trace-of.ts";

const KEEP_ALIVE_MS = 75_000;
const MAX_HEADER_BYTES = 128 * 1024;
const HEADERS_TIMEOUT_MS = 60_000;

/** Requests being answered, for shedding and draining. */
export interface Inflight {
  readonly count: number;
  /** Cancels every request that still runs: each ends with an in-band error. */
  cancelAll(): void;
  /** After this no connection is kept alive. */
  closing: boolean;
}

/** A request under /v1 before anybody knows who sent it. */
interface Arrived {
  readonly headers: ClientHeaders;
  readonly trace: TraceContext;
  readonly requestId: string;
  readonly cancel: CancelToken;
  /** Below /v1. */
  readonly path: string;
  readonly query: string;
  /** Known once the path is matched; for the count of requests. */
  servedBy: AnsweredBy;
}

/** The HTTP front: inference, proxy and health are matched before Express sees anything. */
export function createHttpServer(deps: EdgeDeps, budget: BodyBudget, version: string): { server: Server; inflight: Inflight } {
  const pages = createPages(deps, version);
  const running = new Set<CancelToken>();
  const answering = new WeakMap<Duplex, ServerResponse>();
  const inflight: Inflight = {
    get count() {
      return running.size;
    },
    cancelAll() {
      for (const cancel of running) cancel.cancel("shutdown");
    },
    closing: false,
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? "/";
    const mark = url.indexOf("?");
    const path = mark < 0 ? url : url.slice(0, mark);
    if (request.headers.host === undefined && request.httpVersion === "1.1")
      return refuse(response, NO_HOST, startTrace(undefined), newUuid());
    if (inflight.closing) response.setHeader("connection", "close");
    if (answerCors(deps.limits.corsOrigins, request, response)) return;
    if (!path.startsWith("/v1/") || isPage(path)) return serveOther(request, response, path);
    const headers = readHeaders(request.rawHeaders);
    const trace = traceOf(headers, deps.limits.traceSample);
    const requestId = newUuid();
    const cancel = new CancelToken();
    const query = mark < 0 ? "" : url.slice(mark);
    const arrived: Arrived = { headers, trace, requestId, cancel, path: path.slice(3), query, servedBy: "none" };
    const onClose = (): void => {
      if (!response.writableFinished) cancel.cancel("client_gone");
    };
    response.once("close", onClose);
    running.add(cancel);
    try {
      if (running.size > deps.limits.maxInflight) throw new GatewayError("overloaded", undefined, { retryAfterMs: 1_000 });
      await serveApi(request, response, arrived);
    } catch (error) {
      const failure = toGatewayError(error);
      if (failure.code === "internal") deps.log.error({ traceId: trace.traceId, error: causeText(failure.cause) }, "request failed");
      refuse(response, failure, trace, requestId);
    } finally {
      running.delete(cancel);
      deps.metrics.requestAnswered(arrived.servedBy, response.statusCode);
    }
  }

  async function serveApi(request: IncomingMessage, response: ServerResponse, arrived: Arrived): Promise<void> {
    const { trace, cancel, headers, requestId, query } = arrived;
    const receivedAt = deps.clock.now();
    const explicitProxy = arrived.path.startsWith("/proxy/");
    const path = explicitProxy ? arrived.path.slice("/proxy".length) : arrived.path;
    const call = { traceId: trace.traceId, traceparent: trace.traceparent, deadline: Number.POSITIVE_INFINITY, cancel };
    const identity = await authenticate(deps.resolver, headers, call);
    refuseExpired(identity.principal, receivedAt);
    const incoming: Incoming = { request, response, headers, identity, trace, requestId, call, path, query, receivedAt };
    const route = explicitProxy ? PROXY_ROUTE : matchRoute(request.method ?? "", path);
    arrived.servedBy = route.kind;
    requireScope(identity.principal, route.scopes);
    switch (route.kind) {
      case "chat":
        return serveChat(deps, budget, incoming);
      case "explain":
        return serveExplain(deps, budget, incoming);
      case "proxy":
        return serveProxy(deps, budget, incoming);
      default:
        return serveBridge(deps, budget, incoming, route);
    }
  }

  async function serveOther(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const health =
      request.method === "GET" || request.method === "HEAD" ? await answerHealth(path, deps.health, deps.processMetrics) : null;
    if (health === null) return pages(request, response);
    response.writeHead(health.status, { "content-type": health.contentType });
    response.end(health.body);
  }

  const server = createServer(
    {
      noDelay: true,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: 0,
      headersTimeout: HEADERS_TIMEOUT_MS,
      // Refused here, as JSON.
      requireHostHeader: false,
    },
    (request, response) => {
      answering.set(request.socket, response);
      serve(request, response).catch((error: unknown) => {
        deps.log.error({ error: String(error) }, "request handler failed");
        response.destroy();
      });
    },
  );
  refuseWhatIsNoRequest(server, answering);
  return { server, inflight };
}

function refuse(response: ServerResponse, error: GatewayError, trace: TraceContext, requestId: string): void {
  const { status, headers, body } = errorReply(error, trace.traceId, requestId);
  writeUnary(response, status, headers, body);
}
