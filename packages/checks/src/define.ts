import type { JsonObject } from "@unigate/core";

/** What a check sees. */
export interface CheckInput {
  readonly phase: "before" | "after";
  /** The text under check: the last message, the prompt, or the first choice of the answer (behaviour 7.2). */
  readonly text: string;
  /** The request's JSON body. */
  readonly request: JsonObject;
  /** The answer's JSON body in the phase "after", else null. */
  readonly reply: JsonObject | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly model: string;
}

/** What a check found. `data` is shown in hook_results. */
export interface CheckVerdict {
  readonly verdict: boolean;
  readonly data: JsonObject | null;
}

/** A check whose parameters have been read and found good. A thrown error is a check error (passes unless failOnError). */
export type PreparedCheck = (input: CheckInput) => CheckVerdict | Promise<CheckVerdict>;

/** A kind of guardrail check; its folder carries its name. */
export interface Check {
  /** "default.contains". */
  readonly id: string;
  readonly phases: readonly ("before" | "after")[];
  /** Reads the parameters once. Throws CheckParameterError naming the parameter and what was expected. */
  prepare(parameters: JsonObject): PreparedCheck;
}

/** A parameter of a check that cannot be used. */
export class CheckParameterError extends Error {
  override readonly name = "CheckParameterError";
  readonly parameter: string;

  constructor(parameter: string, expected: string) {
    super(`${parameter}: expected ${expected}`);
    this.parameter = parameter;
  }
}
