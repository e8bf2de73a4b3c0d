import type { Budget } from "./budget.ts";

/** A text that two JSON values share exactly when they are equal: the order of keys does not count. */
export function canonical(value: unknown, budget: Budget): string {
  budget.spend(1);
  if (typeof value !== "object" || value === null) {
    const text = JSON.stringify(value);
    budget.spend(Math.ceil(text.length / 100));
    return text;
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, budget)).join(",")}]`;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, item]) => `${canonical(key, budget)}:${canonical(item, budget)}`).join(",")}}`;
}
