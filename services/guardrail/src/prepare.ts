import type { Check, PreparedCheck } from "@unigate/checks";
import type { Hook, HookCheck } from "./hook.ts";

/** What reading a check's parameters came to. */
export type Preparation =
  | {
      readonly kind: "ready";
      readonly phases: Check["phases"];
      readonly run: PreparedCheck;
      /** Of an external check, how long one run may take, ms; null = it is done here. */
      readonly longestMs: number | null;
    }
  | { readonly kind: "broken"; readonly error: Error };

/** A check of a hook. */
export interface PreparedHookCheck {
  readonly id: string;
  /** Its error fails the hook instead of passing. */
  readonly failOnError: boolean;
  /** Done at the first call, which may compile patterns, and remembered. Never throws. */
  prepare(): Preparation;
}

export interface PreparedHook {
  readonly hook: Hook;
  readonly checks: readonly PreparedHookCheck[];
}

/** Finds the checks of a hook. What is wrong with one is its result when the hook runs. */
export function prepareHook(hook: Hook, findCheck: (id: string) => Check | null): PreparedHook {
  return { hook, checks: hook.checks.map((check) => prepareCheck(hook, check, findCheck)) };
}

/** A hook whose saved guardrail cannot be had: one errored check under the guardrail's own id. */
export function brokenHook(hook: Hook, error: Error): PreparedHook {
  return { hook, checks: [brokenCheck(hook.id, false, error)] };
}

function prepareCheck(hook: Hook, { id, parameters }: HookCheck, findCheck: (id: string) => Check | null): PreparedHookCheck {
  const failOnError = parameters["failOnError"] === true;
  if (hook.type === "mutator") return brokenCheck(id, failOnError, named("MutatorError", "hooks of type mutator are not available yet"));
  const check = findCheck(id);
  if (check === null) return brokenCheck(id, failOnError, named("UnknownCheckError", `there is no check "${id}"`));
  let done: Preparation | null = null;
  return {
    id: check.id,
    failOnError,
    prepare() {
      done ??= read(check, parameters);
      return done;
    },
  };
}

function read(check: Check, parameters: HookCheck["parameters"]): Preparation {
  try {
    return { kind: "ready", phases: check.phases, run: check.prepare(parameters), longestMs: check.external?.longestMs ?? null };
  } catch (reason) {
    return { kind: "broken", error: reason instanceof Error ? reason : new Error(String(reason)) };
  }
}

function brokenCheck(id: string, failOnError: boolean, error: Error): PreparedHookCheck {
  return { id, failOnError, prepare: () => ({ kind: "broken", error }) };
}

/** An error of the gateway itself under a name that people read in hook results. */
export function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}
