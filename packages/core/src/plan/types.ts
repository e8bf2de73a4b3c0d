import type { CompiledNode, ConditionalNode, ParamPath } from "../config/types.ts";

// The plan as it crosses the wire (same shape as unigate.router.v1.PlanNode).

export interface PlanLeaf {
  index: number;
  optionPath: string;
  probeToken: string;
}

export interface PlanSequence {
  steps: PlanNode[];
  onStatuses: number[];
  anyNon2xx: boolean;
}

export interface PlanHedge {
  /** Two, in the order in which they start. */
  racers: PlanNode[];
  /** Until the second starts; 0 where the rule has a percentile: the edge, which measures, fills it in. */
  delayMs: number;
  /** Option path of the strategy, by which its rule is found. */
  budgetToken: string;
}

export interface PlanNode {
  kind: { $case: "leaf"; value: PlanLeaf } | { $case: "sequence"; value: PlanSequence } | { $case: "hedge"; value: PlanHedge } | undefined;
}

/** What planning may know of the request. The edge reads it from the request itself, the router from its message. */
export interface PlanFacts {
  readonly surface: string;
  /** Upper case. */
  readonly method: string;
  /** Below /v1, without the query. */
  readonly path: string;
  /** Metadata of request and key, merged. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The id of the key that asks; never the key itself. */
  readonly principalId: string;
  /** What the client's body holds at a path of `neededParams`, as it was sent; undefined when there is nothing. */
  param(path: ParamPath): unknown;
  /** A header of `neededHeaders` by its lower-case name. */
  header(name: string): string | undefined;
}

/** Whether a target may be used: "probe" = its breaker is half-open, and this plan may try it. */
export type Availability = "closed" | "probe" | "open";

/** What replicas know of the targets of a config, by number of the leaf. Answered from memory. */
export interface PlanTargets {
  look(leaf: number): Availability;
  /** Until the first byte, over recent answers, ms; null = there is none. */
  latencyMs(leaf: number): number | null;
  /** Whether this plan may try a target without recent answers; then others may not for a while. */
  explore(leaf: number): boolean;
  /** Requests under way. */
  inFlight(leaf: number): number;
  /** The token of the one attempt that decides about a half-open breaker; "" = this is none. */
  beginProbe(leaf: number): string;
}

/** What planning may look at beside the config. */
export interface PlanView {
  /** The next random number in [0, 1). */
  draw(): number;
  /** Unix ms. */
  readonly now: number;
  readonly facts: PlanFacts;
  /** Null = nothing is known, so every breaker is closed. */
  readonly targets: PlanTargets | null;
  /** What a million tokens of the target's model cost, micro-USD; null = not known. */
  price(leaf: number): number | null;
}

/** One choice that planning made, for the decision record. Holds nothing of the request. */
export type PlanChoice = LoadbalanceChoice | ConditionalChoice | HedgeChoice;

export interface LoadbalanceChoice {
  readonly at: string;
  readonly mode: "loadbalance";
  readonly sticky: boolean;
  /** Null when nothing was drawn. */
  readonly draw: number | null;
  readonly weights: readonly number[];
  readonly chosen: number;
}

export interface ConditionalChoice {
  readonly at: string;
  readonly mode: "conditional";
  /** The last conditions that were looked at, 20 at most, up to the one that held. */
  readonly evaluated: readonly { readonly then: string; readonly matched: boolean }[];
  /** Number of the condition that held; null = none, so the default. */
  readonly condition: number | null;
  readonly chosen: number;
  readonly name: string;
}

/** The children of a load balancer that are tried beside each other when the first is slow. */
export interface HedgeChoice {
  readonly at: string;
  readonly mode: "hedge";
  readonly racers: readonly [number, number];
  /** What chose the second; null when nothing was drawn. */
  readonly draw: number | null;
}

/** Children of a node that are open or half-open, for the decision record. */
export interface BreakerChoice {
  readonly at: string;
  readonly mode: "breaker";
  readonly open: readonly number[];
  /** Nothing else is left, so all are used. */
  readonly bypassed: boolean;
}

export interface Planned {
  readonly plan: PlanNode;
  readonly choices: readonly (PlanChoice | BreakerChoice)[];
}

/** A plan while it is made: what each mode gets beside its node. */
export interface Planning {
  readonly view: PlanView;
  readonly choices: (PlanChoice | BreakerChoice)[];
  /** Conditions that were looked at: the number of the one that held, -1 for none. */
  readonly held: Map<ConditionalNode, number>;
  /** Plans a node below. */
  planNode(node: CompiledNode, planning: Planning): PlanNode;
}
