import type { PlanHedge, PlanNode } from "@unigate/core";
import { hedgeDelay } from "../pipeline/hedge-delay.ts";
import { isReplayable, mayDeny } from "../pipeline/may-hedge.ts";
import type { Run } from "../pipeline/run-state.ts";

/** The plan as the explanation shows it: targets by their option paths. */
export type PlanTree =
  | { readonly target: string }
  | { readonly in_order: readonly PlanTree[]; readonly go_on_at: readonly number[] | "every status outside 200 to 299" }
  | RaceTree;

interface RaceTree {
  readonly race: readonly PlanTree[];
  /** Until the second starts; null = too little is known of the first. */
  readonly delay_ms: number | null;
  readonly max_extra_percent: number;
  /** Why the second will not be started, whatever the budget; null = nothing stands against it. */
  readonly why_not: "too_few_samples" | "not_replayable" | "may_deny" | null;
}

export async function planTree(run: Run, { kind }: PlanNode): Promise<PlanTree> {
  switch (kind?.$case) {
    case "leaf":
      return { target: kind.value.optionPath };
    case "sequence":
      return {
        in_order: await treesOf(run, kind.value.steps),
        go_on_at: kind.value.anyNon2xx ? "every status outside 200 to 299" : kind.value.onStatuses,
      };
    case "hedge":
      return raceTree(run, kind.value);
    case undefined:
      return { in_order: [], go_on_at: [] };
  }
}

function treesOf(run: Run, nodes: readonly PlanNode[]): Promise<PlanTree[]> {
  return Promise.all(nodes.map((node) => planTree(run, node)));
}

async function raceTree(run: Run, hedge: PlanHedge): Promise<RaceTree> {
  const rule = run.config.compiled.hedges.get(hedge.budgetToken);
  const delayMs = rule === undefined ? null : hedgeDelay(run, rule, hedge);
  return {
    race: await treesOf(run, hedge.racers),
    delay_ms: delayMs,
    max_extra_percent: rule?.maxExtraPercent ?? 0,
    why_not: await whyNot(run, hedge, delayMs),
  };
}

async function whyNot(run: Run, hedge: PlanHedge, delayMs: number | null): Promise<RaceTree["why_not"]> {
  if (delayMs === null) return "too_few_samples";
  if (!isReplayable(run.request)) return "not_replayable";
  return (await mayDeny(run, hedge)) ? "may_deny" : null;
}
