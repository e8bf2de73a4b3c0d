import type { Check, Outside } from "@unigate/checks";
import type { Clock } from "@unigate/core";
import type { Resolver } from "@unigate/resolve";
import type { Sealer } from "@unigate/secrets";

export interface GuardrailDeps {
  /** Finds saved guardrails. */
  readonly resolver: Pick<Resolver, "resolve">;
  /** Opens the credentials of saved guardrails. */
  readonly sealer: Pick<Sealer, "open">;
  /** `findCheck` of the checks package. */
  readonly findCheck: (id: string) => Check | null;
  /** What external checks reach others with: `createPost`. */
  readonly post: Outside["post"];
  readonly clock: Clock;
  /** Longest that one check may take that is not external, ms. Default 5,000. */
  readonly checkTimeoutMs?: number;
}
