import type { Breaker, BreakersReply, BreakersRequest } from "@unigate/contracts";
import { breakerPhase, type Clock } from "@unigate/core";
import type { LiveBreakers } from "./breakers/live-breakers.ts";
import { targetKeyPrefix } from "./target-key.ts";

/** What is known of one config's breakers, after asking the store. Without the store: what this replica knows. */
export async function listBreakers(breakers: LiveBreakers, clock: Clock, request: BreakersRequest): Promise<BreakersReply> {
  const organisationId = request.tenant?.organisationId ?? "";
  await breakers.refresh(organisationId);
  const now = clock.now();
  const prefix = targetKeyPrefix(request);
  const found: Breaker[] = [];
  for (const [key, state] of breakers.states(organisationId)) {
    if (!key.startsWith(prefix)) continue;
    found.push({
      optionPath: key.slice(prefix.length),
      state: breakerPhase(state, now),
      failures: state.failures,
      successes: state.successes,
      openUntil: state.openUntil,
    });
  }
  return { breakers: found };
}
