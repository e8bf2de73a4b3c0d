import { z } from "zod";
import { deeperThan, isObject, type JsonObject } from "../json.ts";
import { nearestName } from "./nearest-name.ts";
import { joined, MAX_SHOWN } from "./rules.ts";
import { type ConfigNode, inlineConfigSchema, savedConfigSchema } from "./schema.ts";
import { sizeProblem } from "./sizes.ts";
import type { ConfigProblem } from "./types.ts";

type ReadResult =
  | { readonly ok: true; readonly node: ConfigNode; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** Most problems, and most warnings, that one config gets told about. */
export const MAX_PROBLEMS = 20;
/** Deepest nesting of a config, lists and objects counted. */
export const MAX_CONFIG_DEPTH = 50;

/** Checks the shape. Unknown fields are problems of a saved config and warnings of an inline one (DESIGN 8.2). */
export function readConfig(json: unknown, origin: "saved" | "inline"): ReadResult {
  if (!isObject(json)) return { ok: false, problems: [{ path: "", message: `expected a JSON object, found ${kindOf(json)}` }] };
  if (deeperThan(json, MAX_CONFIG_DEPTH))
    return { ok: false, problems: [{ path: "", message: `nested deeper than ${MAX_CONFIG_DEPTH} levels` }] };
  const size = sizeProblem(json);
  if (size !== null) return { ok: false, problems: [size] };
  const result = (origin === "saved" ? savedConfigSchema : inlineConfigSchema).safeParse(json);
  if (!result.success) return { ok: false, problems: problemsOf(result.error.issues) };
  const warnings: string[] = [];
  if (origin === "inline") collectUnknown(json, result.data, "", warnings);
  return { ok: true, node: result.data, warnings };
}

/** The first problems only: a hostile config may have a million. */
function problemsOf(issues: readonly z.core.$ZodIssue[]): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const issue of issues) {
    if (problems.length >= MAX_PROBLEMS) break;
    if (issue.code === "unrecognized_keys") problems.push(...unknownProblems(issue, MAX_PROBLEMS - problems.length));
    else problems.push(problemOf(issue));
  }
  return problems;
}

function unknownProblems(issue: z.core.$ZodIssueUnrecognizedKeys, most: number): ConfigProblem[] {
  const path = pathText(issue.path);
  const known = fieldsAt(issue.path);
  return issue.keys.slice(0, most).map((key) => {
    const near = nearestName(key, known);
    return { path: joined(path, shown(key)), message: `unknown field${near === null ? "" : `; did you mean "${near}"?`}` };
  });
}

/** Of a union, the problem of the form that was meant: the only one that takes this kind of value at all. */
function problemOf(issue: z.core.$ZodIssue, above: readonly PropertyKey[] = []): ConfigProblem {
  const path = [...above, ...issue.path];
  if (issue.code === "invalid_union") {
    const meant = issue.errors.filter((issues) => issues.every(({ code, path: at }) => code !== "invalid_type" || at.length > 0));
    const [first] = meant[0] ?? [];
    if (meant.length === 1 && first !== undefined) return problemOf(first, path);
  }
  return { path: pathText(path), message: plainMessage(issue) };
}

/** What was expected, in words that need no schema beside them. */
function plainMessage(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type": {
      if (issue.expected === "int") return "expected a whole number";
      const found = / received (\w+)$/.exec(issue.message)?.[1] ?? "something else";
      return `expected ${KINDS[issue.expected] ?? issue.expected}, found ${found === "undefined" ? "nothing" : found}`;
    }
    case "invalid_value":
      return `expected one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "too_small":
      if (issue.origin === "string") return "expected text that is not empty";
      return `expected at least ${issue.minimum}${issue.origin === "array" ? " item" : ""}`;
    case "too_big":
      return `expected at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const KINDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

function pathText(path: readonly PropertyKey[]): string {
  let text = "";
  for (const part of path) text += typeof part === "number" ? `[${part}]` : text === "" ? shown(String(part)) : `.${shown(String(part))}`;
  return text;
}

/** A key of a config as far as a message repeats it. */
function shown(key: string): string {
  return key.length <= MAX_SHOWN ? key : `${key.slice(0, MAX_SHOWN)}...`;
}

/** The fields that a config may have at a path: what a typo there is compared with. */
function fieldsAt(path: readonly PropertyKey[]): string[] {
  let schema: unknown = savedConfigSchema;
  for (const part of path) {
    const inner = withoutOptional(schema);
    if (inner instanceof z.ZodArray) schema = inner.element;
    else schema = inner instanceof z.ZodObject ? inner.shape[String(part)] : undefined;
  }
  const found = withoutOptional(schema);
  return found instanceof z.ZodObject ? Object.keys(found.shape).filter((name) => name !== "sealed_credentials") : [];
}

function withoutOptional(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? schema.unwrap() : schema;
}

/** Fields that the tolerant schema left out, at any depth, by comparing what went in with what came out. */
function collectUnknown(given: JsonObject, kept: JsonObject, path: string, names: string[]): void {
  for (const [key, value] of Object.entries(given)) {
    if (names.length >= MAX_PROBLEMS) return;
    const at = joined(path, shown(key));
    if (!Object.hasOwn(kept, key)) names.push(at);
    else collectUnknownOf(value, kept[key], at, names);
  }
}

function collectUnknownOf(given: unknown, kept: unknown, path: string, names: string[]): void {
  if (isObject(given) && isObject(kept)) collectUnknown(given, kept, path, names);
  else if (Array.isArray(given) && Array.isArray(kept)) {
    for (const [index, item] of given.entries()) {
      if (names.length >= MAX_PROBLEMS) return;
      collectUnknownOf(item, kept[index], `${path}[${index}]`, names);
    }
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}
