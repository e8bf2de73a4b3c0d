import { type BreakerRule, breakerRule } from "../breaker/rule.ts";
import type { JsonObject } from "../json.ts";
import { guardrailRule, hookRule } from "./hooks.ts";
import type { ConfigNode } from "./schema.ts";
import type { CacheRule, HookRule, RetryRule, Timeouts } from "./types.ts";

/** What a node hands down to its targets (behaviour 1.4). Provider, credentials, weight and name are never handed down. */
export interface Inherited {
  readonly defaultParams: JsonObject | null;
  readonly overrideParams: JsonObject | null;
  readonly dropParams: readonly string[];
  readonly retry: RetryRule | null;
  readonly breaker: BreakerRule | null;
  readonly cache: CacheRule | null;
  readonly requestTimeoutMs: number | null;
  readonly timeouts: Timeouts;
  readonly forwardHeaders: readonly string[];
  readonly customHost: string | null;
  readonly strict: boolean | null;
  readonly beforeHooks: readonly HookRule[];
  readonly afterHooks: readonly HookRule[];
}

/** DESIGN 8.9. */
export const RETRY_STATUSES: readonly number[] = [429, 500, 502, 503, 504, 529];
const MAX_RETRIES = 5;

const CACHE_AGE = { min: 60, max: 7_776_000, default: 604_800 };

/** What the root of a config starts from. */
export const NOTHING_INHERITED: Inherited = {
  defaultParams: null,
  overrideParams: null,
  dropParams: [],
  retry: null,
  breaker: null,
  cache: null,
  requestTimeoutMs: null,
  timeouts: { connectMs: 10_000, firstTokenMs: 120_000, idleMs: 120_000 },
  forwardHeaders: [],
  customHost: null,
  strict: null,
  beforeHooks: [],
  afterHooks: [],
};

/** A node's own values over its parent's. */
export function inherit(parent: Inherited, node: ConfigNode): Inherited {
  return {
    defaultParams: merged(parent.defaultParams, node.default_params),
    overrideParams: merged(parent.overrideParams, node.override_params),
    dropParams: node.drop_params === undefined ? parent.dropParams : [...new Set([...parent.dropParams, ...node.drop_params])],
    retry: node.retry === undefined ? parent.retry : retryRule(node.retry),
    breaker: ownBreaker(node) ?? parent.breaker,
    cache: node.cache === undefined ? parent.cache : { mode: node.cache.mode, maxAge: cacheAge(node.cache.max_age) },
    requestTimeoutMs: node.request_timeout ?? parent.requestTimeoutMs,
    timeouts: {
      connectMs: node.timeouts?.connect_ms ?? parent.timeouts.connectMs,
      firstTokenMs: node.timeouts?.first_token_ms ?? parent.timeouts.firstTokenMs,
      idleMs: node.timeouts?.idle_ms ?? parent.timeouts.idleMs,
    },
    forwardHeaders: node.forward_headers?.map((name) => name.toLowerCase()) ?? parent.forwardHeaders,
    customHost: node.custom_host ?? parent.customHost,
    strict: node.strict_compat_compliance ?? parent.strict,
    beforeHooks: ownHooks(node.before_request_hooks, node.input_guardrails, "input") ?? parent.beforeHooks,
    afterHooks: ownHooks(node.after_request_hooks, node.output_guardrails, "output") ?? parent.afterHooks,
  };
}

/** Shallow, the child wins by top-level key. */
function merged(parent: JsonObject | null, own: JsonObject | undefined): JsonObject | null {
  if (own === undefined) return parent;
  return parent === null ? own : { ...parent, ...own };
}

/** Written in either place; that of the strategy goes first (behaviour section 0). */
function ownBreaker(node: ConfigNode): BreakerRule | null {
  const fields = node.strategy?.cb_config ?? node.cb_config;
  return fields === undefined ? null : breakerRule(fields);
}

function retryRule(retry: NonNullable<ConfigNode["retry"]>): RetryRule | null {
  if (retry.attempts === 0) return null;
  return {
    attempts: Math.min(retry.attempts, MAX_RETRIES),
    onStatusCodes: retry.on_status_codes ?? RETRY_STATUSES,
    useRetryAfter: retry.use_retry_after_headers ?? false,
  };
}

/** Out of range means the default, as users of the field have it (behaviour 1.4). */
function cacheAge(seconds: number | undefined): number {
  if (seconds === undefined || seconds < CACHE_AGE.min || seconds > CACHE_AGE.max) return CACHE_AGE.default;
  return Math.floor(seconds);
}

/** A node's own list replaces its parent's; guardrails are appended to the same node's hooks. */
function ownHooks(
  hooks: readonly JsonObject[] | undefined,
  guardrails: readonly unknown[] | undefined,
  phase: "input" | "output",
): HookRule[] | null {
  if (hooks === undefined && guardrails === undefined) return null;
  return [...(hooks ?? []).map(hookRule), ...(guardrails ?? []).map((item) => guardrailRule(item, phase))];
}
