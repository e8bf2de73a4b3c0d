import { hash } from "node:crypto";
import type { Entry, LookupReply, LookupRequest } from "@unigate/contracts";
import type { CacheRule, Call } from "@unigate/core";
import type { Run } from "../run-state.ts";
import type { ResolvedTarget } from "./resolve-target.ts";
import type { ShapedBody } from "./shape-body.ts";

const DEADLINE_MS = 500;

/** What the cache said. `fillToken` "" = do not store. */
export interface CacheView {
  readonly status: "HIT" | "MISS" | "REFRESH" | "DISABLED";
  readonly hit: Entry | null;
  readonly fillToken: string;
  readonly maxAge: number;
}

const DISABLED: CacheView = { status: "DISABLED", hit: null, fillToken: "", maxAge: 0 };

/**
 * Looks for a stored answer to the same body, provider and metadata in the same organisation (behaviour section 6).
 * `stream` is no part of the key: either kind of answer serves both. The cache being down is a MISS.
 */
export async function lookUp(run: Run, rule: CacheRule | null, target: ResolvedTarget, shaped: ShapedBody): Promise<CacheView> {
  const { request, deps } = run;
  const asked = lookupRequest(run, rule, target, shaped);
  if (rule === null || asked === null) return DISABLED;
  const startedAt = deps.clock.now();
  let reply: LookupReply;
  try {
    reply = await deps.cache.lookup(asked, cacheCall(run));
  } catch (error) {
    if (run.call.cancel.cancelled) throw error;
    deps.log.warn({ traceId: request.trace.traceId, error: String(error) }, "cache is unavailable; counted as a miss");
    return { status: "MISS", hit: null, fillToken: "", maxAge: rule.maxAge };
  } finally {
    run.hooks.cacheAt = startedAt;
    run.hooks.cacheMs = deps.clock.now() - startedAt;
  }
  if (reply.outcome?.$case === "hit") return { status: "HIT", hit: reply.outcome.value, fillToken: "", maxAge: rule.maxAge };
  return { status: asked.refresh ? "REFRESH" : "MISS", hit: null, fillToken: reply.outcome?.value ?? "", maxAge: rule.maxAge };
}

/** What the cache is asked for; null when this request goes past it. */
export function lookupRequest(run: Run, rule: CacheRule | null, target: ResolvedTarget, shaped: ShapedBody): LookupRequest | null {
  const { surface, headers, principal } = run.request;
  if (rule === null || surface !== "chat" || headers["x-gateway-debug"] === "false") return null;
  const namespace = headers["x-gateway-cache-namespace"];
  return {
    tenant: principal.tenant,
    partition: namespace ?? "",
    exactKey: exactKey(run, target, shaped, namespace === undefined),
    maxAgeS: rule.maxAge,
    refresh: headers["x-gateway-cache-force-refresh"] === "true",
    peek: false,
  };
}

/** As long as the cache is waited for. */
export function cacheCall({ request, call, deps }: Run): Call {
  return { ...request.call, deadline: Math.min(call.deadline, deps.clock.now() + DEADLINE_MS) };
}

/** SHA-256 over surface, target, body without its stream fields, and the metadata unless a namespace replaces it. */
function exactKey(run: Run, target: ResolvedTarget, shaped: ShapedBody, withMetadata: boolean): Buffer {
  const { stream: _, stream_options: __, ...rest } = shaped.json ?? {};
  const { provider, slug, target: place } = target;
  const where = `${run.request.surface}\n${provider.id}\n${slug}\n${place.customHost}\n${place.strict}\n${JSON.stringify(rest)}`;
  return hash("sha256", withMetadata ? `${where}\n${JSON.stringify(run.metadata)}` : where, "buffer");
}

/** Stores an answer, off the request's path. Loss is harmless. */
export function storeAnswer(run: Run, view: CacheView, entry: Entry): void {
  if (view.fillToken === "") return;
  const { deps, request } = run;
  deps.cache
    .store(
      { tenant: request.principal.tenant, fillToken: view.fillToken, entry, maxAgeS: view.maxAge },
      { ...request.call, deadline: deps.clock.now() + DEADLINE_MS },
    )
    .catch((error: unknown) =>
      deps.log.warn({ traceId: request.trace.traceId, error: String(error) }, "answer was not stored in the cache"),
    );
}
