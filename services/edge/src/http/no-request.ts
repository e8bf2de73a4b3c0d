import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { GatewayError, newUuid, startTrace } from "@unigate/core";
import { errorReply } from "../endpoints/error-reply.ts";
import { writeUnary } from "./write-reply.ts";

export const NO_HOST = new GatewayError("invalid_request", "An HTTP/1.1 request needs a Host header.", { param: "host" });

/**
 * What node:http cannot parse, or keeps from the request handler, is still answered in JSON. `answering` holds the
 * last answer begun on a connection: bytes must not be written into the middle of one.
 */
export function refuseWhatIsNoRequest(server: Server, answering: WeakMap<Duplex, ServerResponse>): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const answer = answering.get(socket);
    if (answer?.headersSent === true && !answer.writableFinished) socket.destroy();
    else writeRefusal(socket, causeOf(error));
  });
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    writeRefusal(socket, new GatewayError("method_not_allowed", "CONNECT is not supported: this is no forward proxy."));
  });
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    const asked = String(request.headers.expect).slice(0, 60);
    const error = new GatewayError("invalid_request", `Nothing here meets the expectation "${asked}"; leave the header Expect out.`, {
      param: "expect",
    });
    const { headers, body } = errorReply(error, startTrace(undefined).traceId, newUuid());
    writeUnary(response, 417, headers, body);
  });
}

function causeOf(error: NodeJS.ErrnoException): GatewayError {
  return error.code === "HPE_HEADER_OVERFLOW"
    ? new GatewayError("headers_too_large")
    : new GatewayError("invalid_request", "The request is not valid HTTP/1.1.");
}

function writeRefusal(socket: Duplex, error: GatewayError): void {
  if (socket.destroyed || !socket.writable) return;
  const { status, body } = errorReply(error, startTrace(undefined).traceId, newUuid());
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body.toString("utf8"));
}
