import type { Metadata } from "@grpc/grpc-js";
import type { Call } from "@unigate/core";
import { cancelledError, RpcError } from "../errors.ts";
import { decodeMessage, encodeMessage } from "../message-size.ts";
import type { Method } from "../method.ts";
import { refusal } from "../refusal.ts";
import type { SharedStreams } from "../shared-stream/shared-streams.ts";
import { cancelTransport, createTransport, failureOfStatus, headersOf, ignoreHeaders, type Link, type Transport } from "./link.ts";
import { RequestPump } from "./request-pump.ts";
import { OK } from "./status.ts";

/** One request, one answer; over one of the shared streams if there is a place in them, else as a call of its own. */
export function unary(link: Link, streams: SharedStreams | null, method: Method, request: unknown, call: Call): Promise<unknown> {
  const refused = refusal(call);
  if (refused !== null) return Promise.reject(refused);
  let bytes: Buffer;
  try {
    bytes = encodeMessage(method, method.request, request, link.maxBytes);
  } catch (error) {
    return Promise.reject(error);
  }
  const stream = streams?.take(method, bytes.length) ?? null;
  return stream === null ? plainUnary(link, method, bytes, call) : stream.unary(method, bytes, call);
}

/** An encoded request and its answer, as a gRPC call of its own. */
export function plainUnary(link: Link, method: Method, bytes: Buffer, call: Call): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = headersOf(link, method, call);
    const transport = createTransport(link, method, call);
    startForAnswer(method, call, headers, transport, { resolve, reject });
    transport.sendMessageWithContext({}, bytes);
    transport.halfClose();
  });
}

/** A stream of requests, one answer. */
export function answerToStream(link: Link, method: Method, requests: AsyncIterable<unknown>, call: Call): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const refused = refusal(call);
    if (refused !== null) return reject(refused);
    const headers = headersOf(link, method, call);
    const transport = createTransport(link, method, call);
    const end = startForAnswer(method, call, headers, transport, {
      resolve,
      reject,
      onAnswer: () => pump.answered(),
      onEnd: () => pump.stop(),
    });
    const pump = new RequestPump(link, method, transport, (error) => {
      if (end()) reject(error);
      cancelTransport(transport);
    });
    void pump.run(requests);
  });
}

interface AnswerEvents {
  resolve(message: unknown): void;
  reject(error: unknown): void;
  /** Called before `resolve`, when all that is left to come is the call's end. */
  onAnswer?(): void;
  onEnd?(): void;
}

/** Starts a call that is answered by one message. Returns how to end it: false when it has ended. */
function startForAnswer(method: Method, call: Call, headers: Metadata, transport: Transport, events: AnswerEvents): () => boolean {
  let over = false;
  let answer: Buffer | null = null;
  const unlink = call.cancel.onCancel((reason) => {
    if (!end()) return;
    events.reject(cancelledError(reason));
    cancelTransport(transport);
  });

  function end(): boolean {
    if (over) return false;
    over = true;
    unlink();
    events.onEnd?.();
    return true;
  }

  transport.start(headers, {
    onReceiveMetadata: ignoreHeaders,
    onReceiveMessage(message: Buffer) {
      answer = message;
      events.onAnswer?.();
    },
    onReceiveStatus(status) {
      if (!end()) return;
      if (status.code !== OK) return events.reject(failureOfStatus(status, call));
      if (answer === null) return events.reject(new RpcError("INTERNAL", `${method.label}: the answer is missing.`));
      try {
        events.resolve(decodeMessage(method, method.response, answer));
      } catch (error) {
        events.reject(error);
      }
    },
  });
  transport.startRead();
  return end;
}
