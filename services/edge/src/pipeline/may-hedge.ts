import type { PlanHedge } from "@unigate/core";
import type { GatewayRequest } from "../gateway-request.ts";
import { leavesInOrder } from "./plan-leaves.ts";
import type { Run } from "./run-state.ts";
import { resolveHooks } from "./steps/resolve-hooks.ts";

/** Proxied calls that only compute: anywhere else a second call may make a second thing, such as a batch. */
const COMPUTES =
  /^\/(?:audio\/(?:speech|transcriptions|translations)|completions|embeddings|images\/generations|messages|moderations|rerank|responses)$/;

/** Whether the same request may be under way twice. */
export function isReplayable({ surface, method, path, upload }: GatewayRequest): boolean {
  if (upload !== null) return false;
  return surface !== "proxy" || method === "GET" || (method === "POST" && COMPUTES.test(path));
}

/**
 * Whether an output check of a racer can refuse its answer: then the first content is no success yet. A check that
 * cannot be read counts as one that can.
 */
export async function mayDeny(run: Run, hedge: PlanHedge): Promise<boolean> {
  if (run.request.surface === "proxy") return false;
  for (const { index } of hedge.racers.flatMap(leavesInOrder)) {
    const leaf = run.config.compiled.leaves[index];
    if (leaf === undefined || leaf.afterHooks.length === 0) continue;
    try {
      const { after } = await resolveHooks(run, leaf);
      if (after.some((hook) => hook.mayDeny)) return true;
    } catch {
      return true;
    }
  }
  return false;
}
