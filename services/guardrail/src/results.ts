import type { JsonObject } from "@unigate/core";
import type { FeedbackSetting } from "./hook.ts";

/** One check of a hook in the public `hook_results` (behaviour 7.1). Times are ms. */
export interface CheckResult {
  readonly id: string;
  readonly verdict: boolean;
  /** What the check says of it: any JSON, most often an object; null = nothing. */
  readonly data: unknown;
  readonly error?: { readonly name: string; readonly message: string };
  readonly execution_time: number;
  /** Whether the body that goes on has this check's rewrite in it. */
  readonly transformed: boolean;
  /** ISO 8601. */
  readonly created_at: string;
  readonly log: null;
  readonly fail_on_error: boolean;
}

/** What is posted under the trace id when a hook has run. */
export interface Feedback {
  readonly value: number;
  readonly weight: number;
  readonly metadata: JsonObject;
}

/** One hook in the public `hook_results`. */
export interface HookResult {
  readonly verdict: boolean;
  readonly id: string;
  readonly transformed: boolean;
  readonly checks: readonly CheckResult[];
  readonly feedback: Feedback | null;
  readonly execution_time: number;
  readonly async: boolean;
  readonly type: "guardrail" | "mutator";
  readonly created_at: string;
  readonly deny: boolean;
}

/** The result of a hook whose rewrite, if there was one, gave way to another. */
export function withoutRewrite(result: HookResult): HookResult {
  if (!result.transformed) return result;
  return { ...result, transformed: false, checks: result.checks.map((check) => ({ ...check, transformed: false })) };
}

/** An errored check passes unless it says otherwise (behaviour 7.2). */
export function passes(check: CheckResult): boolean {
  return check.verdict || (check.error !== undefined && !check.fail_on_error);
}

/** The configured feedback with the ids of the checks by outcome; null when none is configured. */
export function feedbackOf(setting: FeedbackSetting | null, checks: readonly CheckResult[]): Feedback | null {
  if (setting === null) return null;
  const metadata = {
    ...setting.metadata,
    successfulChecks: idsOf(checks, (check) => check.verdict),
    failedChecks: idsOf(checks, (check) => !check.verdict && check.error === undefined),
    erroredChecks: idsOf(checks, (check) => check.error !== undefined),
  };
  return { value: setting.value, weight: setting.weight, metadata };
}

function idsOf(checks: readonly CheckResult[], wanted: (check: CheckResult) => boolean): string {
  return checks
    .filter(wanted)
    .map((check) => check.id)
    .join(", ");
}
