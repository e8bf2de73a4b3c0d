import type { BreakerRule } from "../breaker/rule.ts";
import type { Condition, HashField } from "../conditions/types.ts";
import type { JsonObject } from "../json.ts";
import type { Hash } from "../plan/hash-of-text.ts";

/** Something wrong with a config. `path` is "targets[1].retry.attempts", empty for the config itself. */
export interface ConfigProblem {
  readonly path: string;
  readonly message: string;
}

export interface RetryRule {
  /** 0 to 5. */
  readonly attempts: number;
  readonly onStatusCodes: readonly number[];
  readonly useRetryAfter: boolean;
}

export interface CacheRule {
  readonly mode: "simple" | "semantic";
  /** Seconds. */
  readonly maxAge: number;
}

/** One hook as the config writes it; its JSON is what the guardrail service reads. A saved one may say more. */
export interface HookRule {
  readonly id: string;
  /** The normalised hook of behaviour 7.1 as JSON; null when it is only the id of a saved one. */
  readonly inlineJson: Buffer | null;
}

export interface Timeouts {
  readonly connectMs: number;
  readonly firstTokenMs: number;
  readonly idleMs: number;
}

/** Where a leaf goes. */
export type Destination =
  /** A provider of the catalogue, with a credential of the config or of the request. */
  | { readonly kind: "provider"; readonly provider: string }
  /** A saved provider. */
  | { readonly kind: "slug"; readonly slug: string }
  /** `passthrough`: the request's own provider header or model says it. */
  | { readonly kind: "passthrough" }
  /** The config only decorates: provider and credentials come from the request's headers. */
  | { readonly kind: "request" }
  | { readonly kind: "prompt"; readonly promptId: string };

/** A target with everything inherited: all that an attempt needs but credentials. */
export interface CompiledLeaf {
  /** Its number in the compiled config. */
  readonly index: number;
  /** "config", "config.targets[1]". */
  readonly optionPath: string;
  readonly name: string;
  readonly destination: Destination;
  /** base64 of the Sealed credentials of a saved config; null when it had none. */
  readonly sealedCredentials: string | null;
  /** Non-secret provider settings as JSON; empty when there are none. */
  readonly settingsJson: Buffer;
  readonly customHost: string | null;
  readonly defaultParams: JsonObject | null;
  readonly overrideParams: JsonObject | null;
  readonly dropParams: readonly string[];
  readonly forwardHeaders: readonly string[];
  /** Until response headers, one attempt, ms; null = the gateway's maximum. */
  readonly requestTimeoutMs: number | null;
  readonly timeouts: Timeouts;
  readonly retry: RetryRule | null;
  readonly breaker: BreakerRule | null;
  readonly cache: CacheRule | null;
  /** Null = not said, so the default (true). */
  readonly strict: boolean | null;
  readonly beforeHooks: readonly HookRule[];
  readonly afterHooks: readonly HookRule[];
}

/** How the leaves hang together. */
export type CompiledNode = LeafNode | SingleNode | LoadbalanceNode | FallbackNode | ConditionalNode;

export interface LeafNode {
  readonly kind: "leaf";
  readonly leaf: number;
  readonly optionPath: string;
}

export interface SingleNode {
  readonly kind: "single";
  readonly child: CompiledNode;
}

export interface LoadbalanceNode {
  readonly kind: "loadbalance";
  /** What decides before the weights. */
  readonly select: "weighted" | "least_latency" | "least_busy" | "lowest_cost";
  /** The balancer's own option path: "config", "config.targets[1]". */
  readonly path: string;
  readonly children: readonly { readonly weight: number; readonly node: CompiledNode }[];
  /** Null = each request draws. */
  readonly sticky: StickyRule | null;
  readonly hedge: HedgeRule | null;
}

/** When a second target is started beside a first one that is slow. */
export interface HedgeRule {
  /** Option path of the strategy. */
  readonly path: string;
  /** Until the second starts, ms; null = `percentile` says it. */
  readonly delayMs: number | null;
  /** 1 to 99: waits as long as this part of former answers took until their first content. */
  readonly percentile: number | null;
  /** Additional calls in percent of the requests, 0 to 100. */
  readonly maxExtraPercent: number;
  /** Of a fallback the statuses on which each target is left (null = any outside 200-299); null = no fallback. */
  readonly leaveOn: readonly (readonly number[] | null)[] | null;
}

/** What keeps the choice of a load balancer for whoever asks. */
export interface StickyRule {
  /** What tells apart those who ask with one key. */
  readonly fields: readonly HashField[];
  readonly ttlMs: number;
  /** Hashes of the targets' option paths. */
  readonly targets: readonly Hash[];
}

export interface FallbackNode {
  readonly kind: "fallback";
  /** Its own option path. */
  readonly path: string;
  /** `leaveOn` null = any status outside 200-299. */
  readonly children: readonly { readonly leaveOn: readonly number[] | null; readonly node: CompiledNode }[];
  readonly hedge: HedgeRule | null;
}

export interface ConditionalNode {
  readonly kind: "conditional";
  readonly path: string;
  /** The first whose condition holds decides. */
  readonly rules: readonly ConditionRule[];
  /** When none holds: `target` is an index of `children`. */
  readonly otherwise: { readonly name: string; readonly target: number };
  readonly children: readonly CompiledNode[];
}

export interface ConditionRule {
  readonly condition: Condition;
  readonly then: string;
  /** Index of `children`. */
  readonly target: number;
}

/** A place in the request body, such as `params.messages[0].role`. */
export interface ParamPath {
  /** The same for every spelling of the path: "params.messages.0.role". */
  readonly text: string;
  readonly steps: readonly (string | number)[];
}

/** A config that is valid, inherited and numbered. Holds no credential. */
export interface CompiledConfig {
  readonly root: CompiledNode;
  readonly leaves: readonly CompiledLeaf[];
  /** Unknown fields of an inline config, for the log. */
  readonly warnings: readonly string[];
  /**
   * Whether the plan depends on state that replicas share, so that the router is asked. Weights, order, conditions
   * and sticky need none.
   */
  readonly needsRouter: boolean;
  /** Whether latencies and numbers of requests under way decide. */
  readonly isMeasured: boolean;
  /** Whether prices decide. */
  readonly isPriced: boolean;
  /** By the option path of their strategy, which is the budget token of their plan nodes. */
  readonly hedges: ReadonlyMap<string, HedgeRule>;
  /** What planning looks at of the body, each place once. */
  readonly neededParams: readonly ParamPath[];
  /** Lower-case names of the headers that planning looks at. */
  readonly neededHeaders: readonly string[];
}
