import { isObject, type JsonObject } from "@unigate/core";

/** A hook in its normal form (behaviour 7.1), disabled checks left out. */
export interface Hook {
  readonly id: string;
  readonly type: "guardrail" | "mutator";
  readonly checks: readonly HookCheck[];
  /** A failure refuses the request (446) instead of marking it (246). */
  readonly deny: boolean;
  /** Runs beside the request and changes nothing of it. */
  readonly async: boolean;
  /** Checks run one after the other. */
  readonly sequential: boolean;
  readonly onSuccess: Action;
  readonly onFail: Action;
}

export interface HookCheck {
  readonly id: string;
  readonly parameters: JsonObject;
}

interface Action {
  readonly deny: boolean;
  readonly feedback: FeedbackSetting | null;
}

export interface FeedbackSetting {
  readonly value: number;
  readonly weight: number;
  readonly metadata: JsonObject;
}

/** What a config may change of a saved guardrail. */
const OVERRIDES = ["deny", "async", "sequential", "on_success", "on_fail"] as const;

/** Whether a hook's JSON brings its own checks; without, it is a saved guardrail with other actions. */
export function bringsChecks(json: JsonObject): boolean {
  return Array.isArray(json["checks"]);
}

/** Reads a hook as configs and saved guardrails write it. `deny` may also stand in `on_fail`; its own place wins. */
export function readHook(id: string, json: JsonObject): Hook {
  const onFail = readAction(json["on_fail"]);
  return {
    id,
    type: json["type"] === "mutator" ? "mutator" : "guardrail",
    checks: Array.isArray(json["checks"]) ? json["checks"].flatMap(readCheck) : [],
    deny: typeof json["deny"] === "boolean" ? json["deny"] : onFail.deny,
    async: json["async"] === true,
    sequential: json["sequential"] === true,
    onSuccess: readAction(json["on_success"]),
    onFail,
  };
}

/** A saved guardrail's hook: its own checks, and its own actions where the config does not give others. */
export function savedHookJson(checks: readonly unknown[], actions: JsonObject, config: JsonObject): JsonObject {
  const json: JsonObject = { ...actions, checks };
  for (const name of OVERRIDES) if (config[name] !== undefined) json[name] = config[name];
  return json;
}

function readCheck(value: unknown): HookCheck[] {
  if (!isObject(value) || value["is_enabled"] === false) return [];
  return [{ id: String(value["id"]), parameters: isObject(value["parameters"]) ? value["parameters"] : {} }];
}

function readAction(value: unknown): Action {
  if (!isObject(value)) return { deny: false, feedback: null };
  return { deny: value["deny"] === true, feedback: readFeedback(value["feedback"]) };
}

function readFeedback(value: unknown): FeedbackSetting | null {
  if (!isObject(value) || typeof value["value"] !== "number") return null;
  const { weight, metadata } = value;
  return {
    value: value["value"],
    weight: typeof weight === "number" ? weight : 1,
    metadata: isObject(metadata) ? metadata : {},
  };
}
