import type { ServerResponse } from "node:http";
import type { CancelToken } from "@unigate/core";
import type { GatewayReply } from "../gateway-request.ts";

/** How much of a refused body is still taken, and for how long, so that its sender gets to read the refusal. */
const LINGER_BYTES = 4 * 1024 * 1024;
const LINGER_MS = 2_000;

/** Answers with one body. */
export function writeUnary(
  response: ServerResponse,
  status: number,
  headers: readonly string[],
  body: Buffer,
  trailer: GatewayReply["trailer"] = null,
): void {
  if (response.headersSent || response.destroyed) return;
  closeUnlessRead(response);
  // A body of announced length has no trailers.
  response.writeHead(status, [...headers, ...(trailer === null ? ["content-length", String(body.length)] : ["trailer", trailer[0]])]);
  if (trailer !== null) response.addTrailers([trailer]);
  if (response.req.complete) response.end(body);
  else lingeringEnd(response, body);
}

/** What is left of a body that nobody read would be taken for the next request of the connection. */
export function closeUnlessRead(response: ServerResponse): void {
  if (!response.req.complete) response.shouldKeepAlive = false;
}

/** A connection closed while its client still sends is reset, and the answer is lost with it. */
function lingeringEnd(response: ServerResponse, body: Buffer): void {
  const { req } = response;
  let left = LINGER_BYTES;
  const end = (): void => {
    clearTimeout(timer);
    req.off("data", onData).off("end", end).off("error", end).off("close", end);
    response.end();
  };
  const onData = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left < 0) end();
  };
  const timer = setTimeout(end, LINGER_MS);
  req.on("data", onData).on("end", end).on("error", end).on("close", end);
  response.write(body);
  req.resume();
}

/** Waits until a full socket takes more, or the client is gone. */
function drained(response: ServerResponse, cancel: CancelToken): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      stop();
      resolve();
    };
    const stop = cancel.onCancel(() => {
      response.off("drain", done);
      resolve();
    });
    response.on("drain", done);
  });
}

/**
 * Writes a stream as it comes: chunks of one tick together, one write. A client that is gone ends the stream, which
 * cancels the upstream.
 */
export async function writeChunks(
  response: ServerResponse,
  reply: Extract<GatewayReply, { kind: "stream" }>,
  cancel: CancelToken,
  onWrite: () => void,
): Promise<void> {
  try {
    for await (const chunk of reply.chunks) {
      // Any other end of the call is told in the last chunk.
      if (cancel.reason === "client_gone") break;
      onWrite();
      if (!response.write(chunk)) await drained(response, cancel);
    }
    if (reply.trailer !== null) response.addTrailers([reply.trailer]);
    response.end();
  } catch {
    // Only a proxied stream throws: its client must see the break, not a clean end.
    response.destroy();
  }
}
