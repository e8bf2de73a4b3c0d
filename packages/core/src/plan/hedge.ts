import type { HedgeRule } from "../config/types.ts";
import type { PlanNode } from "./types.ts";

/** Two targets of which the second starts when the first is slow. Whoever walks the plan keeps the budget. */
export function hedgeNode(rule: HedgeRule, first: PlanNode, second: PlanNode): PlanNode {
  return { kind: { $case: "hedge", value: { racers: [first, second], delayMs: rule.delayMs ?? 0, budgetToken: rule.path } } };
}
