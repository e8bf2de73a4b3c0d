import type { ReserveReply, Verdict } from "@unigate/contracts";
import { GatewayError } from "@unigate/core";
import type { Run } from "../run-state.ts";
import { factsOf } from "./facts.ts";

/** Headers that tell how much of a limit is left; flat pairs. */
export interface Reserved {
  readonly headers: readonly string[];
}

const NOTHING: Reserved = { headers: [] };

/** Whether the request can meet a limit at all: a call to policy is made only then. */
export function hasRequestLimits(run: Run): boolean {
  return run.request.principal.key.rate_limits.length > 0;
}

/**
 * Takes the request from the limits of its key. Throws rate_limited or budget_exhausted with the wait.
 * Policy down means rates pass (mesh.md section 2).
 */
export async function reserve(run: Run): Promise<Reserved> {
  if (!hasRequestLimits(run)) return NOTHING;
  const { request, deps } = run;
  let reply: ReserveReply;
  try {
    reply = await deps.policy.reserve(
      {
        reservationId: run.request.requestId,
        tenant: request.principal.tenant,
        subject: { apiKeyId: request.principal.key.id, provider: "", slug: "", configId: run.config.id, promptId: "", model: "" },
        facts: factsOf(run, "", false),
        attempt: 0,
        requestScope: true,
        targetScope: false,
        tokens: 0,
        leaseMs: deps.limits.maxRequestMs,
      },
      { ...request.call, deadline: Math.min(run.call.deadline, deps.clock.now() + deps.limits.reserveMs) },
    );
  } catch (error) {
    if (run.call.cancel.cancelled) throw error;
    deps.log.warn({ traceId: request.trace.traceId, error: String(error) }, "policy is unavailable; the request passes");
    return NOTHING;
  }
  const headers = rateLimitHeaders(reply, deps.clock.now());
  if (reply.request !== undefined && !reply.request.allowed) throw refusal(reply.request, headers);
  return { headers };
}

/** A refusal by a limit; its rate-limit headers go to the client with it. */
export class LimitRefusal extends GatewayError {
  readonly headers: readonly string[];

  constructor(verdict: Verdict, headers: readonly string[]) {
    const code = verdict.code === "budget_exhausted" ? "budget_exhausted" : "rate_limited";
    const wait = Math.max(1, Math.ceil(verdict.retryAfterMs / 1_000));
    super(code, code === "rate_limited" ? `The rate limit of this API key is reached; try again in ${wait} s.` : undefined, {
      retryAfterMs: verdict.retryAfterMs,
    });
    this.headers = headers;
  }
}

function refusal(verdict: Verdict, headers: readonly string[]): GatewayError {
  return new LimitRefusal(verdict, headers);
}

/** The tightest limit of requests and the tightest of tokens, in the spelling of the OpenAI API. */
function rateLimitHeaders(reply: ReserveReply, now: number): string[] {
  const headers: string[] = [];
  for (const kind of ["requests", "tokens"] as const) {
    const [first, ...others] = reply.remaining.filter((remaining) => remaining.policyId.includes("/tokens/") === (kind === "tokens"));
    if (first === undefined) continue;
    const tightest = others.reduce((least, remaining) => (remaining.left < least.left ? remaining : least), first);
    const seconds = Math.max(0, Math.ceil((tightest.resetsAt - now) / 1_000));
    headers.push(`x-ratelimit-limit-${kind}`, String(tightest.limit));
    headers.push(`x-ratelimit-remaining-${kind}`, String(Math.max(0, tightest.left)));
    headers.push(`x-ratelimit-reset-${kind}`, `${seconds}s`);
  }
  return headers;
}
