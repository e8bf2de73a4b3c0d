import type { JsonObject } from "@unigate/core";
import type { CheckInput } from "../define.ts";

/** What requests are called towards webhooks, by the shape of their endpoint. */
const REQUEST_TYPES: ReadonlyMap<string, string> = new Map([
  ["chat", "chatComplete"],
  ["completions", "complete"],
  ["embeddings", "embed"],
  ["messages", "messages"],
  ["responses", "createModelResponse"],
]);

/** The documented body of a call (behaviour 7.3). Before a request there is no answer: an empty one stands in its place. */
export function callBody(input: CheckInput): JsonObject {
  const { phase, text, request, requestText, reply, status, metadata, provider, surface, stream, rewritten } = input;
  const after = phase === "after";
  return {
    request: { json: request, text: requestText, isStreamingRequest: stream, isTransformed: !after && rewritten },
    response: { json: reply ?? {}, text: after ? text : "", statusCode: status, isTransformed: after && rewritten },
    provider,
    requestType: REQUEST_TYPES.get(surface) ?? surface,
    metadata,
    eventType: after ? "afterRequestHook" : "beforeRequestHook",
  };
}
