import type { ServerResponse } from "node:http";
import type { CancelToken } from "@unigate/core";
import type { GatewayReply } from "../gateway-request.ts";

/** Answers with one body. */
export function writeUnary(response: ServerResponse, status: number, headers: readonly string[], body: Buffer): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, withLength(headers, body.length));
  response.end(body);
}

function withLength(headers: readonly string[], length: number): string[] {
  return [...headers, "content-length", String(length)];
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
    response.end();
  } catch {
    // Only a proxied stream throws: its client must see the break, not a clean end.
    response.destroy();
  }
}
