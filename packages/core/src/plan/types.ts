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
  racers: PlanNode[];
  delayMs: number;
  budgetToken: string;
}

export interface PlanNode {
  kind: { $case: "leaf"; value: PlanLeaf } | { $case: "sequence"; value: PlanSequence } | { $case: "hedge"; value: PlanHedge } | undefined;
}

/** What planning may look at beside the config. */
export interface PlanView {
  /** The next random number in [0, 1). */
  draw(): number;
}

/** One choice that planning made, for the decision record. */
export interface PlanChoice {
  readonly at: string;
  readonly mode: "loadbalance";
  readonly draw: number;
  readonly weights: readonly number[];
  readonly chosen: number;
}

export interface Planned {
  readonly plan: PlanNode;
  readonly choices: readonly PlanChoice[];
}
