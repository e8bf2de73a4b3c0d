import type { z } from "zod";
import { isObject, type JsonObject } from "../json.ts";
import { nearestName } from "./nearest-name.ts";
import { type ConfigNode, inlineConfigSchema, savedConfigSchema } from "./schema.ts";
import type { ConfigProblem } from "./types.ts";

type ReadResult =
  | { readonly ok: true; readonly node: ConfigNode; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

const MAX_PROBLEMS = 20;
const MAX_DEPTH = 50;

/** Checks the shape. Unknown fields are problems of a saved config and warnings of an inline one (DESIGN 8.2). */
export function readConfig(json: unknown, origin: "saved" | "inline"): ReadResult {
  if (!isObject(json)) return { ok: false, problems: [{ path: "", message: `expected a JSON object, found ${kindOf(json)}` }] };
  if (tooDeep(json, MAX_DEPTH)) return { ok: false, problems: [{ path: "", message: `nested deeper than ${MAX_DEPTH} levels` }] };
  const result = (origin === "saved" ? savedConfigSchema : inlineConfigSchema).safeParse(json);
  if (!result.success) return { ok: false, problems: result.error.issues.flatMap(problemsOf).slice(0, MAX_PROBLEMS) };
  const warnings = origin === "inline" ? unknownFields(json, result.data, "") : [];
  return { ok: true, node: result.data, warnings };
}

function problemsOf(issue: z.core.$ZodIssue): ConfigProblem[] {
  const path = pathText(issue.path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => {
      const near = nearestName(key, knownFields);
      return { path: path === "" ? key : `${path}.${key}`, message: `unknown field${near === null ? "" : `; did you mean "${near}"?`}` };
    });
  }
  return [{ path, message: plainMessage(issue) }];
}

/** zod's words without its prefix: "expected number, received string". */
function plainMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_value") return `expected one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
  if (issue.code === "too_small") return `expected at least ${issue.minimum}`;
  if (issue.code === "too_big") return `expected at most ${issue.maximum}`;
  return issue.message.replace(/^Invalid input: /, "");
}

function pathText(path: readonly PropertyKey[]): string {
  let text = "";
  for (const part of path) text += typeof part === "number" ? `[${part}]` : text === "" ? String(part) : `.${String(part)}`;
  return text;
}

const knownFields: readonly string[] = [
  ...Object.keys(savedConfigSchema.shape).filter((name) => name !== "sealed_credentials"),
  "mode",
  "conditions",
  "default",
  "sticky",
  "select",
  "hedge",
  "attempts",
  "use_retry_after_headers",
  "max_age",
  "failure_threshold",
  "failure_threshold_percentage",
  "cooldown_interval",
  "failure_status_codes",
  "minimum_requests",
];

/** Fields that the tolerant schema left out, by comparing what went in with what came out. */
function unknownFields(given: JsonObject, kept: JsonObject, path: string): string[] {
  const names: string[] = [];
  for (const [key, value] of Object.entries(given)) {
    const at = path === "" ? key : `${path}.${key}`;
    if (!(key in kept)) names.push(at);
    else if (key === "targets" && Array.isArray(value)) {
      const keptTargets = kept[key] as JsonObject[];
      value.forEach((target: JsonObject, index) => names.push(...unknownFields(target, keptTargets[index] ?? {}, `${at}[${index}]`)));
    }
  }
  return names.slice(0, MAX_PROBLEMS);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

function tooDeep(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (left === 0) return true;
  return Object.values(value).some((item) => tooDeep(item, left - 1));
}
