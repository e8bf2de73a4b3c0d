import { compileQuery } from "../conditions/compile-query.ts";
import type { Reading } from "../conditions/reading.ts";
import { joined } from "./rules.ts";
import type { ConfigNode } from "./schema.ts";
import { targetsByName } from "./targets-by-name.ts";
import type { CompiledNode, ConditionalNode, ConditionRule } from "./types.ts";

/**
 * The node of a conditional strategy (spec 2.2). `then` and `default` must name one target of it. A strategy without
 * conditions or default has its problems already.
 */
export function compileConditional(
  reading: Reading,
  node: ConfigNode,
  children: readonly CompiledNode[],
  path: string,
  optionPath: string,
): ConditionalNode {
  const find = targetsByName(node.targets ?? []);
  const targetAt = (name: string, field: string): number => {
    const found = find(name);
    if (typeof found === "number") return found;
    reading.problems.push({ path: joined(path, field), message: found });
    return 0;
  };
  const { conditions = [], default: otherwise } = node.strategy ?? {};
  const rules = conditions.map(({ query, then }, index): ConditionRule => {
    const at = `strategy.conditions[${index}]`;
    return { condition: compileQuery(reading, query, joined(path, `${at}.query`)), then, target: targetAt(then, `${at}.then`) };
  });
  const target = otherwise === undefined ? 0 : targetAt(otherwise, "strategy.default");
  return { kind: "conditional", path: optionPath, rules, otherwise: { name: otherwise ?? "", target }, children };
}
