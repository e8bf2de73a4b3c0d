import type { Check } from "@unigate/checks";
import type { Clock } from "@unigate/core";
import type { Resolver } from "@unigate/resolve";

export interface GuardrailDeps {
  /** Finds saved guardrails. */
  readonly resolver: Pick<Resolver, "resolve">;
  /** `findCheck` of the checks package. */
  readonly findCheck: (id: string) => Check | null;
  readonly clock: Clock;
  /** Longest that one check may take, ms. Default 5,000. */
  readonly checkTimeoutMs?: number;
}
