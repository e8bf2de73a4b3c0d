import type { ChannelInterface, Metadata } from "@grpc/grpc-js";
import type { Call } from "@unigate/core";
import { cancelledError, RpcError } from "../errors.ts";
import type { CallInterceptor } from "../mesh-token.ts";
import type { Method } from "../method.ts";
import { isTraceparent } from "../traceparent.ts";
import { CANCELLED, errorOf } from "./status.ts";

/** What all calls over a channel share. */
export interface Link {
  readonly address: string;
  readonly channel: ChannelInterface;
  /** grpc-js's class of headers. */
  readonly Headers: new () => Metadata;
  readonly interceptor: CallInterceptor | undefined;
  readonly maxBytes: number;
}

/**
 * A call as the channel makes it, below grpc-js's own client methods: those wrap it into emitters, streams and a stack
 * trace each time, 45 us of a unary call, and their streams buffer sixteen messages.
 */
export type Transport = ReturnType<ChannelInterface["createCall"]>;

type CalledMethod = Pick<Method, "path">;

/** Timers do not reach further; such a deadline is none. */
const MAX_DEADLINE_MS = 2 ** 31 - 1;

/** @throws RpcError UNAVAILABLE when the channel was closed. */
export function createTransport(link: Link, method: CalledMethod, call: Call): Transport {
  const deadline = call.deadline - Date.now() > MAX_DEADLINE_MS ? Number.POSITIVE_INFINITY : call.deadline;
  try {
    return link.channel.createCall(method.path, deadline, null, null, null);
  } catch (error) {
    throw new RpcError("UNAVAILABLE", `The channel to ${link.address} is closed.`, error);
  }
}

/** The trace, unless it is no traceparent, and what the channel's interceptor adds. */
export function headersOf(link: Link, method: CalledMethod, call: Call): Metadata {
  const headers = new link.Headers();
  if (isTraceparent(call.traceparent)) headers.set("traceparent", call.traceparent);
  link.interceptor?.(headers, method.path);
  return headers;
}

/** What the caller gets for a failed call; a deadline that passed reads the same whichever timer saw it first. */
export function failureOfStatus(status: { code: number; details: string }, call: Call): RpcError {
  const error = errorOf(status);
  return error.code === "DEADLINE_EXCEEDED" && call.deadline <= Date.now() ? cancelledError("deadline") : error;
}

export function cancelTransport(transport: Transport): void {
  transport.cancelWithStatus(CANCELLED, "");
}

/** Response headers hold nothing of ours. */
export function ignoreHeaders(): void {}
