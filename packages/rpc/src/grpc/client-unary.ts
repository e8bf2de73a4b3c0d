import type { Call } from "@unigate/core";
import { cancelledError, RpcError } from "../errors.ts";
import { decodeMessage, encodeMessage } from "../message-size.ts";
import type { Method } from "../method.ts";
import { refusal } from "../refusal.ts";
import { cancelTransport, createTransport, failureOfStatus, headersOf, ignoreHeaders, type Link, type Transport } from "./link.ts";
import { RequestPump } from "./request-pump.ts";
import { OK } from "./status.ts";

/** One request, one answer. */
export function unary(link: Link, method: Method, request: unknown, call: Call): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const refused = refusal(call);
    if (refused !== null) return reject(refused);
    const bytes = encodeMessage(method, method.request, request, link.maxBytes);
    const transport = createTransport(link, method, call);
    startForAnswer(link, method, call, transport, resolve, reject);
    transport.sendMessageWithContext({}, bytes);
    transport.halfClose();
  });
}

/** A stream of requests, one answer. */
export function answerToStream(link: Link, method: Method, requests: AsyncIterable<unknown>, call: Call): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const refused = refusal(call);
    if (refused !== null) return reject(refused);
    const transport = createTransport(link, method, call);
    const end = startForAnswer(link, method, call, transport, resolve, reject, {
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
  onAnswer(): void;
  onEnd(): void;
}

/** Starts a call that is answered by one message. Returns how to end it: false when it has ended. */
function startForAnswer(
  link: Link,
  method: Method,
  call: Call,
  transport: Transport,
  resolve: (message: unknown) => void,
  reject: (error: unknown) => void,
  events?: AnswerEvents,
): () => boolean {
  let over = false;
  let answer: Buffer | null = null;
  const unlink = call.cancel.onCancel((reason) => {
    if (!end()) return;
    reject(cancelledError(reason));
    cancelTransport(transport);
  });

  function end(): boolean {
    if (over) return false;
    over = true;
    unlink();
    events?.onEnd();
    return true;
  }

  transport.start(headersOf(link, method, call), {
    onReceiveMetadata: ignoreHeaders,
    onReceiveMessage(message: Buffer) {
      answer = message;
      events?.onAnswer();
    },
    onReceiveStatus(status) {
      if (!end()) return;
      if (status.code !== OK) return reject(failureOfStatus(status, call));
      if (answer === null) return reject(new RpcError("INTERNAL", `${method.label}: the answer is missing.`));
      try {
        resolve(decodeMessage(method, method.response, answer));
      } catch (error) {
        reject(error);
      }
    },
  });
  transport.startRead();
  return end;
}
