import { Blame, type InvokeReply, type InvokeRequest } from "@unigate/contracts";
import { type Call, GatewayError } from "@unigate/core";
import { type Exchange, retryAfterMs } from "@unigate/http";
import { translatedHeaders } from "./answer-headers.ts";
import type { ConnectorDeps } from "./deps.ts";
import { type FailedOutcome, gatewayFailure, providerFailure } from "./outcome.ts";
import { type Prepared, prepare } from "./prepare.ts";
import { failureOutcome, isFailed, refusalOutcome, sendPrepared } from "./send.ts";

const NOTHING = Buffer.alloc(0);

/** One unary exchange on a translated surface. Every outcome of the upstream is a value. */
export async function invoke(deps: ConnectorDeps, request: InvokeRequest, call: Call): Promise<InvokeReply> {
  const provider = request.target?.provider ?? "";
  let prepared: Prepared;
  try {
    prepared = await prepare(deps, request, false);
  } catch (error) {
    return replyOf(refusalOutcome(error, provider));
  }
  const answer = await sendPrepared(deps, request, prepared, prepared.request.body, call);
  if (isFailed(answer)) return replyOf(answer);
  const body = await answer.readAll(deps.maxAnswerBytes);
  if (!Buffer.isBuffer(body)) return replyOf(failureOutcome(body, request, prepared.provider.id, call));
  if (isRedirect(answer)) {
    answer.cancel();
    return replyOf(redirectOutcome(prepared, answer));
  }
  if (answer.status < 200 || answer.status > 299) return replyOf(errorOutcome(prepared, answer, body, deps.clock.now()));
  return read(prepared, answer, body);
}

/** What the provider refused, in the gateway's words. */
export function errorOutcome(prepared: Prepared, answer: Exchange, body: Buffer, now: number): FailedOutcome {
  const mask = prepared.mask();
  return providerFailure(prepared.provider.readError(answer.status, mask.body(body), answer.headers), prepared.provider.id, {
    headers: translatedHeaders(answer.headers, mask),
    retryAfterMs: retryAfterMs(answer.headers, now),
    upstreamMs: answer.upstreamMs,
  });
}

/** A redirect is never followed, and never handed on: a client that follows it would send its key along. */
export function isRedirect(answer: Exchange): boolean {
  return answer.status >= 300 && answer.status <= 399;
}

export function redirectOutcome(prepared: Prepared, answer: Exchange): FailedOutcome {
  return gatewayFailure("upstream_invalid", prepared.provider.id, {
    message: `${prepared.provider.id} answered with a redirect (${answer.status}), which is not followed; name the right address in custom_host.`,
    upstreamMs: answer.upstreamMs,
    bytesSent: true,
    blame: Blame.UPSTREAM,
  });
}

function read(prepared: Prepared, answer: Exchange, body: Buffer): InvokeReply {
  const { surface, provider, input } = prepared;
  if (surface === null) throw new Error("a proxied request is never unary");
  try {
    const reply = surface.read(body, input);
    return {
      head: {
        status: 200,
        headers: translatedHeaders(answer.headers),
        blame: Blame.UNSPECIFIED,
        bytesSent: true,
        upstreamMs: answer.upstreamMs,
        transformed: reply.body !== body,
        failure: undefined,
      },
      body: reply.body,
      usage: reply.usage ?? undefined,
      model: reply.model,
      finishReason: reply.finishReason,
      texts: [],
      sentBody: NOTHING,
    };
  } catch (error) {
    if (error instanceof GatewayError) return replyOf(unreadable(error, prepared, answer));
    return replyOf(
      gatewayFailure("upstream_invalid", provider.id, {
        message: `Invalid response received from ${provider.id}.`,
        upstreamMs: answer.upstreamMs,
        bytesSent: true,
        blame: Blame.UPSTREAM,
      }),
    );
  }
}

/** The provider's own words, when an answer turned out to be an error that came with a good status. */
function unreadable(error: GatewayError, prepared: Prepared, answer: Exchange): FailedOutcome {
  const facts = {
    status: error.status,
    message: prepared.mask().text(error.message),
    type: error.type,
    param: error.param,
    code: error.code,
  };
  return providerFailure(facts, prepared.provider.id, {
    headers: translatedHeaders(answer.headers),
    retryAfterMs: null,
    upstreamMs: answer.upstreamMs,
  });
}

function replyOf(outcome: FailedOutcome): InvokeReply {
  return { head: outcome.head, body: outcome.body, usage: undefined, model: "", finishReason: "", texts: [], sentBody: NOTHING };
}
