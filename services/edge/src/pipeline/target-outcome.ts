import type { CompiledLeaf } from "@unigate/core";
import type { LogHead } from "@unigate/events";
import type { AttemptResult } from "./attempt-result.ts";
import type { CacheView } from "./steps/look-up.ts";
import type { ResolvedTarget } from "./steps/resolve-target.ts";
import type { ShapedBody } from "./steps/shape-body.ts";

/** A try of a target before its last one. */
export type RetryRecord = LogHead["retries"][number];

/** One target tried to its end, retries included. What is logged, settled and answered is made from it. */
export interface TargetOutcome {
  readonly result: AttemptResult;
  readonly attempt: number;
  /** Whether the provider was called. */
  readonly called: boolean;
  readonly leaf: CompiledLeaf;
  /** Null when the target could not be resolved. */
  readonly target: ResolvedTarget | null;
  readonly shaped: ShapedBody;
  readonly cache: CacheView;
  readonly retries: readonly RetryRecord[];
  /** 0, n = the nth retry succeeded, -1 = gave up on a status that calls for a retry. */
  readonly retryCount: number;
  readonly startedAt: number;
}
