import type { IncomingMessage } from "node:http";
import { GatewayError } from "@unigate/core";

/** Silence while a body is being sent that ends the request. */
const BODY_IDLE_MS = 60_000;
const EMPTY = Buffer.alloc(0);

/** Memory for bodies, shared by all requests of the process. */
export interface BodyBudget {
  /** Takes `bytes`, or throws overloaded. */
  take(bytes: number): void;
  give(bytes: number): void;
  readonly used: number;
}

export function createBodyBudget(limit: number): BodyBudget {
  let used = 0;
  return {
    take(bytes) {
      if (used + bytes > limit) {
        throw new GatewayError("overloaded", "The gateway holds too many request bodies right now; try again shortly.", {
          retryAfterMs: 1_000,
        });
      }
      used += bytes;
    },
    give(bytes) {
      used -= bytes;
    },
    get used() {
      return used;
    },
  };
}

/**
 * The whole body of a request. What was taken from the budget is given back by the caller when the request is over:
 * `body.length` bytes. Throws body_too_large (before the first byte when the length is announced), overloaded, or
 * client_closed when the client went away.
 */
export function readBody(request: IncomingMessage, limit: number, budget: BodyBudget): Promise<Buffer> {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > limit) return Promise.reject(tooLarge(limit));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => fail(new GatewayError("request_timeout", "The request body stopped arriving.")), BODY_IDLE_MS);
    const stop = (): void => {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("error", onGone).off("close", onGone);
    };
    const fail = (error: GatewayError): void => {
      stop();
      budget.give(size);
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      timer.refresh();
      if (size + chunk.length > limit) return fail(tooLarge(limit));
      try {
        budget.take(chunk.length);
      } catch (error) {
        return fail(error as GatewayError);
      }
      size += chunk.length;
      chunks.push(chunk);
    };
    const onEnd = (): void => {
      stop();
      const [only] = chunks;
      resolve(chunks.length === 1 && only !== undefined ? only : chunks.length === 0 ? EMPTY : Buffer.concat(chunks, size));
    };
    const onGone = (): void => fail(new GatewayError("client_closed"));
    request.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone);
  });
}

function tooLarge(limit: number): GatewayError {
  return new GatewayError("body_too_large", `The request body is larger than ${limit} bytes.`);
}

/** A streamed upload, piece by piece; ends with an error when it passes `limit` or the client goes away. */
export async function* streamBody(request: IncomingMessage, limit: number): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    yield chunk;
  }
  if (!request.complete) throw new GatewayError("client_closed");
}
