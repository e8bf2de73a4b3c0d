import type { PlanFacts, PlanView } from "./types.ts";

const NOTHING: PlanFacts = {
  surface: "chat",
  method: "POST",
  path: "/chat/completions",
  metadata: {},
  principalId: "key-1",
  param: () => undefined,
  header: () => undefined,
};

/** A view of a request of which little is known but for what the test says. */
export function viewOf(draw: () => number, facts: Partial<PlanFacts> = {}, now = 0): PlanView {
  return { draw, now, facts: { ...NOTHING, ...facts }, targets: null, price: () => null };
}
