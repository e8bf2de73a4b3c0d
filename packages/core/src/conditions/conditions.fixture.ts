import { compileConfig } from "../config/compile.ts";
import type { CompiledConfig, ConfigProblem } from "../config/types.ts";
import type { JsonObject } from "../json.ts";
import { paramValue } from "../param-value.ts";
import { planConfig } from "../plan/plan.ts";
import { viewOf } from "../plan/plan-view.fixture.ts";
import type { PlanFacts } from "../plan/types.ts";

/** A config that sends what the query holds for to its first target and all else to its second. */
export function configOf(query: unknown, then = "yes"): JsonObject {
  return {
    strategy: { mode: "conditional", conditions: [{ query, then }], default: "no" },
    targets: [
      { provider: "mock", name: "yes" },
      { provider: "mock", name: "no" },
    ],
  };
}

export function compiledConfig(config: unknown): CompiledConfig {
  const result = compileConfig(config, "saved");
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

export function problemsOf(config: unknown, origin: "saved" | "inline" = "saved"): readonly ConfigProblem[] {
  const result = compileConfig(config, origin);
  return result.ok ? [] : result.problems;
}

/** A request as a test writes it. */
export interface Asked {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
}

export function factsOf({ metadata = {}, body = null, headers = {}, path = "/chat/completions" }: Asked): Partial<PlanFacts> {
  return {
    metadata,
    path,
    param: ({ steps }) => paramValue(body, steps),
    header: (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined),
  };
}

/** Whether a query holds for a request, by the whole way from the config to the plan. */
export function holds(query: unknown, asked: Asked): boolean {
  const { choices } = planConfig(
    compiledConfig(configOf(query)),
    viewOf(() => 0, factsOf(asked)),
  );
  const [choice] = choices;
  return choice?.mode === "conditional" && choice.chosen === 0;
}
