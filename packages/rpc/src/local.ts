import type { Call } from "@unigate/core";
import { cancelledError, RpcError } from "./errors.ts";
import { failureOf, type OnFault } from "./failure.ts";
import { answerOnce, answerStream, type LocalMethod } from "./local-stream.ts";
import { type Handler, handlerOf, type Method, methodsOf } from "./method.ts";
import { NO_FEED, PulledStream } from "./pulled-stream.ts";
import { refusal } from "./refusal.ts";
import type { ServiceDefinition, ServicePort } from "./types.ts";

export interface LocalOptions {
  readonly onFault?: OnFault;
}

/**
 * The port of a service in the same process: messages pass by reference, nothing is encoded. Behaves as over gRPC:
 * errors are RpcErrors, a cancelled call is answered at once, streams are pulled one message at a time. A deadline is
 * enforced by whoever made the call (`boundCall` of core); a call whose deadline has passed is refused.
 */
export function localPort<D extends ServiceDefinition>(
  definition: D,
  implementation: ServicePort<D>,
  options: LocalOptions = {},
): ServicePort<D> {
  const port: Record<string, unknown> = {};
  for (const method of methodsOf(definition)) port[method.key] = localMethod(method, handlerOf(implementation, method), options);
  return port as ServicePort<D>;
}

function localMethod(method: Method, handler: Handler | null, options: LocalOptions): unknown {
  if (handler === null) return missing(method);
  const local: LocalMethod = { method, handler, onFault: options.onFault };
  if (method.responseStream) return (request: unknown, call: Call) => answerStream(local, request, call);
  if (method.requestStream) return (request: unknown, call: Call) => answerOnce(local, request as AsyncIterable<unknown>, call);
  return (request: unknown, call: Call) => unary(local, request, call);
}

function unary({ method, handler, onFault }: LocalMethod, request: unknown, call: Call): Promise<unknown> {
  const refused = refusal(call);
  if (refused !== null) return Promise.reject(refused);
  return new Promise((resolve, reject) => {
    let over = false;
    const unlink = call.cancel.onCancel((reason) => {
      over = true;
      reject(cancelledError(reason));
    });
    let answer: Promise<unknown>;
    try {
      answer = handler(request, call) as Promise<unknown>;
    } catch (error) {
      answer = Promise.reject(error);
    }
    answer.then(
      (message) => {
        unlink();
        resolve(message);
      },
      (error: unknown) => {
        if (over) return;
        unlink();
        reject(failureOf(error, method.label, onFault));
      },
    );
  });
}

function missing(method: Method): () => unknown {
  const error = () => new RpcError("UNIMPLEMENTED", `${method.label} is not implemented.`);
  if (!method.responseStream) return () => Promise.reject(error());
  return () => {
    return new PulledStream((answers) => {
      answers.fail(error());
      return NO_FEED;
    });
  };
}
