import type { ServerResponse } from "node:http";
import { type CancelToken, toGatewayError } from "@unigate/core";
import type { EdgeDeps } from "../deps.ts";
import { errorReply } from "../endpoints/error-reply.ts";
import type { GatewayReply, GatewayRequest } from "../gateway-request.ts";
import { runRequest } from "../pipeline/run.ts";
import { causeText } from "./cause-text.ts";
import { closeUnlessRead, writeChunks, writeUnary } from "./write-reply.ts";

const HEARTBEAT = Buffer.from(": heartbeat\n\n");

/** Runs a request and writes its answer. Never throws. */
export async function respond(deps: EdgeDeps, request: GatewayRequest, response: ServerResponse, wantsStream: boolean): Promise<void> {
  const heartbeat = wantsStream ? startHeartbeat(deps, request, response) : null;
  try {
    const reply = await runRequest(deps, request);
    await writeReply(response, reply, request.call.cancel, heartbeat);
  } catch (error) {
    const failure = toGatewayError(error);
    if (failure.code === "internal") deps.log.error({ traceId: request.trace.traceId, error: causeText(failure.cause) }, "request failed");
    const { status, headers, body } = errorReply(failure, request.trace.traceId, request.requestId);
    if (heartbeat?.committed() === true) response.end(`data: ${body.toString("utf8")}\n\n`);
    else writeUnary(response, status, headers, body);
  } finally {
    heartbeat?.stop();
  }
}

async function writeReply(response: ServerResponse, reply: GatewayReply, cancel: CancelToken, heartbeat: Heartbeat | null): Promise<void> {
  if (response.destroyed && reply.kind === "unary") return;
  const committed = heartbeat?.committed() === true;
  if (reply.kind === "unary") {
    // A failure after the status 200 of a heartbeat can only be told in-band, and never ends in [DONE].
    if (committed) response.end(`data: ${reply.body.toString("utf8")}\n\n`);
    else writeUnary(response, reply.status, reply.headers, reply.body, reply.trailer);
    return;
  }
  if (!committed && !response.destroyed) {
    closeUnlessRead(response);
    response.writeHead(reply.status, reply.trailer === null ? reply.headers : [...reply.headers, "trailer", reply.trailer[0]]);
  }
  await writeChunks(response, reply, cancel, () => heartbeat?.touch());
}

interface Heartbeat {
  /** Whether status 200 went out before the outcome was known. */
  committed(): boolean;
  /** Something else was written. */
  touch(): void;
  stop(): void;
}

/**
 * When nothing went to the client for a while, commits status 200 and writes an SSE comment, so that load balancers
 * keep the connection through long thinking (mesh.md section 1.10).
 */
function startHeartbeat(deps: EdgeDeps, request: GatewayRequest, response: ServerResponse): Heartbeat {
  let committed = false;
  const timer = setInterval(() => {
    if (response.writableEnded || response.destroyed) return;
    if (!response.headersSent) {
      committed = true;
      response.writeHead(200, [
        "x-gateway-trace-id",
        request.trace.traceId,
        "content-type",
        "text/event-stream; charset=utf-8",
        "cache-control",
        "no-cache",
      ]);
    }
    response.write(HEARTBEAT);
  }, deps.limits.heartbeatMs);
  return {
    committed: () => committed,
    touch: () => void timer.refresh(),
    stop: () => clearInterval(timer),
  };
}
