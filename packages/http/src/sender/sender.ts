import type { Call } from "@unigate/core";
import type { EgressGuard } from "../egress/guard.ts";
import type { Exchange } from "./exchange.ts";
import { OpenExchange } from "./open-exchange.ts";
import { Origin } from "./origin.ts";
import { OriginTable } from "./origin-table.ts";
import { failed, type SendFailure } from "./send-failure.ts";
import { namesHost, type SendRequest } from "./send-request.ts";
import type { SenderCounters } from "./sender-counters.ts";
import { DEFAULT_SENDER_LIMITS, type SenderLimits } from "./sender-limits.ts";

/** What a sender has done and holds, for metrics. */
export interface SenderStats extends Readonly<SenderCounters> {
  /** Origins with kept connections or TLS sessions, now. */
  readonly origins: number;
}

/** Sends requests to upstreams over kept connections, HTTP/1.1. */
export interface Sender {
  /**
   * Sends one request and answers when the head of the answer is there; any status is an answer, redirects too. Never
   * rejects. Cancelling `call` destroys the upstream socket at once, in every phase. A request is sent again at most
   * once, and only when a kept connection turned out dead before a byte of it was written.
   */
  send(request: SendRequest, call: Call): Promise<Exchange | SendFailure>;
  stats(): SenderStats;
  /** Refuses further requests, ends the open ones as `cancelled`, closes every connection. */
  close(): void;
}

/** `guard` decides about every request that is not `trusted`; `limits` override DEFAULT_SENDER_LIMITS. */
export function createSender(settings: { readonly guard: EgressGuard; readonly limits?: Partial<SenderLimits> }): Sender {
  const { guard } = settings;
  const limits: SenderLimits = { ...DEFAULT_SENDER_LIMITS, ...settings.limits };
  const counters: SenderCounters = { open: 0, connections: 0, connects: 0, reuses: 0, resends: 0 };
  const trusted = new OriginTable(limits.origins);
  const guarded = new OriginTable(limits.origins);
  let closed = false;

  function onFinish(): void {
    counters.open -= 1;
  }

  /** The origin, or why nothing is sent there. Kept origins were checked when they were made; the guard never changes. */
  function originOf(url: string, isTrusted: boolean): Origin | SendFailure {
    const table = isTrusted ? trusted : guarded;
    const known = table.get(url);
    if (known !== undefined) return known;
    if (!/^https?:/.test(url) || !URL.canParse(url) || new URL(url).origin !== url) return invalid("its URL is not one of http or https");
    const verdict = isTrusted ? null : guard.checkUrl(url);
    if (verdict?.ok === false) return failed("refused_address", false, new Error(`The address is refused: ${verdict.reason}.`));
    return table.add(new Origin(url, limits, counters, isTrusted ? null : guard.lookup));
  }

  /** Where the request can be sent, or why it is not sent at all. */
  function admit(request: SendRequest, call: Call): Origin | SendFailure {
    if (closed) return failed("cancelled", false, "shutdown");
    if (call.cancel.cancelled) return failed("cancelled", false, call.cancel.reason);
    if (namesHost(request.headers)) return invalid("a host header cannot be chosen");
    return originOf(request.url.origin, request.trusted);
  }

  function send(request: SendRequest, call: Call): Promise<Exchange | SendFailure> {
    const origin = admit(request, call);
    if (!(origin instanceof Origin)) return Promise.resolve(origin);
    const { url } = request;
    const path = url instanceof URL ? url.pathname + url.search : url.path;
    counters.open += 1;
    return new Promise((settle) => origin.carry(new OpenExchange(request, path, call, settle, onFinish)));
  }

  return {
    send,
    stats: () => ({ ...counters, origins: trusted.size + guarded.size }),
    close() {
      closed = true;
      trusted.close();
      guarded.close();
    },
  };
}

function invalid(why: string): SendFailure {
  return failed("invalid_request", false, new Error(`The request cannot be sent: ${why}.`));
}
