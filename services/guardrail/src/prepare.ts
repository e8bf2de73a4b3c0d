import type { Check, PreparedCheck } from "@unigate/checks";
import type { Hook, HookCheck } from "./hook.ts";

/** A check that is ready to run, or the reason why it cannot. */
export interface PreparedHookCheck {
  readonly id: string;
  /** Its error fails the hook instead of passing. */
  readonly failOnError: boolean;
  readonly outcome:
    | { readonly kind: "ready"; readonly phases: Check["phases"]; readonly run: PreparedCheck }
    | { readonly kind: "broken"; readonly error: Error };
}

export interface PreparedHook {
  readonly hook: Hook;
  readonly checks: readonly PreparedHookCheck[];
}

/** Reads the parameters of all checks. Never throws: what is wrong with a check is its result when the hook runs. */
export function prepareHook(hook: Hook, findCheck: (id: string) => Check | null): PreparedHook {
  return { hook, checks: hook.checks.map((check) => prepareCheck(hook, check, findCheck)) };
}

/** A hook whose saved guardrail cannot be had: one errored check under the guardrail's own id. */
export function brokenHook(hook: Hook, error: Error): PreparedHook {
  return { hook, checks: [{ id: hook.id, failOnError: false, outcome: { kind: "broken", error } }] };
}

function prepareCheck(hook: Hook, { id, parameters }: HookCheck, findCheck: (id: string) => Check | null): PreparedHookCheck {
  const failOnError = parameters["failOnError"] === true;
  if (hook.type === "mutator") return { id, failOnError, outcome: broken("MutatorError", "hooks of type mutator are not available yet") };
  const check = findCheck(id);
  if (check === null) return { id, failOnError, outcome: broken("UnknownCheckError", `there is no check "${id}"`) };
  try {
    return { id: check.id, failOnError, outcome: { kind: "ready", phases: check.phases, run: check.prepare(parameters) } };
  } catch (reason) {
    return { id: check.id, failOnError, outcome: { kind: "broken", error: reason instanceof Error ? reason : new Error(String(reason)) } };
  }
}

function broken(name: string, message: string): { kind: "broken"; error: Error } {
  return { kind: "broken", error: named(name, message) };
}

/** An error of the gateway itself under a name that people read in hook results. */
export function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}
