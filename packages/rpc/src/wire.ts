import { type LocalOptions, localPort } from "./local.ts";
import { mapped } from "./mapped-stream.ts";
import { decodeMessage, encodeMessage, maxMessageBytes, type RpcLimits } from "./message-size.ts";
import { type Codec, type Handler, handlerOf, type Method, methodsOf } from "./method.ts";
import { ReceivedMessages } from "./received.ts";
import type { ServiceDefinition, ServicePort } from "./types.ts";

export interface WireOptions extends LocalOptions, RpcLimits {}

export interface WirePort<D extends ServiceDefinition> {
  readonly port: ServicePort<D>;
  /** @throws Error when a receiver changed bytes of a message that it had received, on either side. */
  readonly verify: () => void;
}

/**
 * For tests: a local port whose messages are encoded and decoded on their way, in both directions. Whoever changes a
 * received message is caught: its objects are frozen, its bytes are compared by `verify`.
 */
export function wirePort<D extends ServiceDefinition>(
  definition: D,
  implementation: ServicePort<D>,
  options: WireOptions = {},
): WirePort<D> {
  const received = new ReceivedMessages();
  const maxBytes = maxMessageBytes(options);
  const recoded: Record<string, unknown> = {};
  for (const method of methodsOf(definition)) {
    const handler = handlerOf(implementation, method);
    if (handler !== null) recoded[method.key] = recode(method, handler, received, maxBytes);
  }
  return { port: localPort(definition, recoded as ServicePort<D>, options), verify: () => received.verify() };
}

function recode(method: Method, handler: Handler, received: ReceivedMessages, maxBytes: number): Handler {
  const pass = (codec: Codec, side: string) => (message: unknown) =>
    received.guard(`${method.label} ${side}`, decodeMessage(method, codec, encodeMessage(method, codec, message, maxBytes)));
  const passRequest = pass(method.request, "request");
  const passAnswer = pass(method.response, "answer");
  return (request, call) => {
    const passed = method.requestStream ? mapped(request as AsyncIterable<unknown>, passRequest) : passRequest(request);
    const answer = handler(passed, call);
    return method.responseStream ? mapped(answer as AsyncIterable<unknown>, passAnswer) : (answer as Promise<unknown>).then(passAnswer);
  };
}
