import type { Facts, Header } from "@unigate/contracts";
import { type PlanView, paramValue } from "@unigate/core";
import type { Run } from "../run-state.ts";
import { factsOf } from "./facts.ts";
import type { LeafPrices } from "./leaf-price.ts";

/** What planning may look at, read from the request itself: as the client sent it, with the merged metadata. */
export function planViewOf(run: Run, prices: LeafPrices): PlanView {
  const { deps, request, metadata } = run;
  return {
    draw: () => deps.draw(),
    now: deps.clock.now(),
    facts: {
      surface: request.surface,
      method: request.method,
      path: request.path,
      metadata,
      principalId: request.principal.key.id,
      param: ({ steps }) => paramValue(request.json, steps),
      header: (name) => request.headers[name],
    },
    targets: null,
    price: (index) => prices.get(index) ?? null,
  };
}

/** The same for the router: of body and headers only what the config names. */
export function planFactsOf(run: Run): Facts {
  const { neededParams, neededHeaders } = run.config.compiled;
  const conditionValues: Record<string, string> = {};
  for (const { text, steps } of neededParams) {
    const value = paramValue(run.request.json, steps);
    if (value !== undefined) conditionValues[text] = JSON.stringify(value);
  }
  const headers: Header[] = [];
  for (const name of neededHeaders) {
    const value = run.request.headers[name];
    if (value !== undefined) headers.push({ name, value });
  }
  return { ...factsOf(run, "", false), conditionValues, headers };
}
