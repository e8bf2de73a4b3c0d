import { nearestName } from "./nearest-name.ts";
import { MAX_SHOWN } from "./rules.ts";
import type { ConfigNode } from "./schema.ts";

/** The number of the target that a name means, or what is wrong with the name. */
export type FindTarget = (name: string) => number | string;

/** Finds targets by name. A name that two targets have is only wrong when it is asked for. */
export function targetsByName(targets: readonly ConfigNode[]): FindTarget {
  const numbers = new Map<string, number[]>();
  for (const [index, { name }] of targets.entries()) {
    if (name === undefined) continue;
    const same = numbers.get(name);
    if (same === undefined) numbers.set(name, [index]);
    else same.push(index);
  }
  return (name) => {
    const [first, second] = numbers.get(name) ?? [];
    const shown = JSON.stringify(name.slice(0, MAX_SHOWN));
    if (second !== undefined) return `two targets are named ${shown}: targets[${first}] and targets[${second}]`;
    if (first !== undefined) return first;
    const near = nearestName(name, numbers.keys());
    return `no target of this strategy is named ${shown}${near === null ? "" : `; did you mean ${JSON.stringify(near)}?`}`;
  };
}
