import type { RenderReply } from "@unigate/contracts";
import { boundedJson, GatewayError, isObject, type JsonObject, type PlanLeaf } from "@unigate/core";
import type { AttemptResult } from "../pipeline/attempt-result.ts";
import { type PreparedTarget, prepareTarget } from "../pipeline/prepare-target.ts";
import type { Run } from "../pipeline/run-state.ts";
import { invokeRequest } from "../pipeline/steps/call.ts";
import { cacheCall, lookupRequest } from "../pipeline/steps/look-up.ts";
import { type Hook, resolveHooks } from "../pipeline/steps/resolve-hooks.ts";
import type { ResolvedTarget } from "../pipeline/steps/resolve-target.ts";
import { estimateCost } from "./estimate-cost.ts";
import { explainLimits } from "./explain-limits.ts";

/** What one target of the plan would meet. Every part that a service cannot tell says so in its place. */
export async function explainTarget(run: Run, planned: PlanLeaf, order: number): Promise<JsonObject> {
  const prepared = await prepareTarget(run, planned);
  const { leaf, target, shaped } = prepared;
  const about = {
    order,
    option_path: leaf.optionPath,
    name: leaf.name === "" ? null : leaf.name,
    provider: target?.provider.id ?? null,
    slug: target === null || target.slug === "" ? null : target.slug,
    model: shaped.model === "" ? null : shaped.model,
  };
  if (target === null || prepared.failure !== null) return { ...about, error: failureOf(prepared.failure) };
  return {
    ...about,
    error: null,
    limits: await told("policy", () => explainLimits(run, prepared)),
    guardrails: await told("control", async () => {
      const { before, after } = await resolveHooks(run, leaf);
      return { before_request_hooks: before.map(hookOf), after_request_hooks: after.map(hookOf) };
    }),
    cache: await told("cache", () => explainCache(run, prepared, target)),
    request: await told("connector", () => rendered(run, prepared, target)),
    retry: leaf.retry === null ? null : { attempts: leaf.retry.attempts, on_status_codes: leaf.retry.onStatusCodes },
    request_timeout_ms: run.request.requestTimeoutMs ?? leaf.requestTimeoutMs,
    cost_estimate: estimateCost(run, prepared, target),
  };
}

/** The answer of a service, or that it has none: an explanation shows what it can. */
async function told<T>(service: string, ask: () => Promise<T>): Promise<T | { readonly unavailable: string }> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof GatewayError) return { unavailable: error.message };
    return { unavailable: `The service "${service}" does not answer right now.` };
  }
}

function hookOf({ id, async, mayDeny }: Hook): JsonObject {
  return { id, async, may_deny: mayDeny };
}

async function explainCache(run: Run, { leaf, shaped }: PreparedTarget, target: ResolvedTarget): Promise<JsonObject> {
  const asked = lookupRequest(run, leaf.cache, target, shaped);
  if (asked === null) return { status: "DISABLED" };
  const { status } = await run.deps.cache.lookup({ ...asked, peek: true }, cacheCall(run));
  return {
    status,
    key: asked.exactKey.toString("hex"),
    namespace: asked.partition === "" ? null : asked.partition,
    max_age: asked.maxAgeS,
  };
}

async function rendered(run: Run, { leaf, shaped }: PreparedTarget, target: ResolvedTarget): Promise<JsonObject> {
  const { method, url, headers, body, failure }: RenderReply = await run.deps.connector.render(
    invokeRequest(run, leaf, target, shaped),
    run.call,
  );
  if (failure !== undefined) return { error: { status: failure.status, code: failure.code, message: failure.message } };
  return { method, url, headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])), body: jsonOrText(body) };
}

function jsonOrText(body: Buffer): unknown {
  const text = body.toString("utf8");
  try {
    const json = boundedJson(text);
    return isObject(json) ? json : text;
  } catch {
    return text;
  }
}

function failureOf(result: AttemptResult | null): JsonObject {
  const failure = result?.failure;
  return { status: result?.status ?? 500, code: failure?.code ?? "no_target", message: failure?.message ?? "It cannot be tried." };
}
