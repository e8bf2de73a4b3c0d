import type { PlanRequest } from "@unigate/contracts";
import type { PlanFacts } from "@unigate/core";

/** What planning may know of a request, from its message. */
export function planFactsOf({ facts, principalId }: PlanRequest): PlanFacts {
  const params = new Map<string, unknown>();
  for (const [text, json] of Object.entries(facts?.conditionValues ?? {})) params.set(text, JSON.parse(json));
  const headers = new Map(facts?.headers.map(({ name, value }) => [name, value]));
  return {
    surface: facts?.surface ?? "",
    method: facts?.method ?? "",
    path: facts?.path ?? "",
    metadata: facts?.metadata ?? {},
    principalId,
    param: ({ text }) => params.get(text),
    header: (name) => headers.get(name),
  };
}
