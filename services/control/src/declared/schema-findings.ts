import { nearestName } from "@unigate/core";
import { z } from "zod";
import { below, type Finding } from "./problem.ts";

/** Unknown fields of one place that are told. */
const MAX_NAMES = 20;

/** What a schema finds wrong with a value, in plain words, with the nearest known name of an unknown field. */
export function schemaFindings(schema: z.ZodType, issues: readonly z.core.$ZodIssue[]): Finding[] {
  return issues.flatMap((issue) => {
    const path = pathText(issue.path);
    if (issue.code !== "unrecognized_keys") return [{ path, message: messageOf(issue) }];
    const known = fieldsAt(schema, issue.path);
    return issue.keys.slice(0, MAX_NAMES).map((name) => {
      const near = nearestName(name, known);
      return {
        path: below(path, name),
        message: `unknown field; ${near === null ? `expected one of ${known.join(", ")}` : `did you mean "${near}"?`}`,
      };
    });
  });
}

function messageOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_value":
      return `expected ${issue.values.length === 1 ? "" : "one of "}${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "invalid_type": {
      const expected = `expected ${kinds[issue.expected] ?? issue.expected}`;
      return issue.message.endsWith("received undefined") ? `${expected}, but it is missing` : expected;
    }
    // A message of the grammar's own says more than a number.
    case "too_small":
      return issue.message.startsWith("Too small") ? `expected at least ${amount(issue.origin, issue.minimum)}` : issue.message;
    case "too_big":
      return issue.message.startsWith("Too big") ? `expected at most ${amount(issue.origin, issue.maximum)}` : issue.message;
    default:
      return issue.message;
  }
}

function amount(origin: string, limit: number | bigint): string {
  if (origin !== "array") return String(limit);
  return `${limit} item${Number(limit) === 1 ? "" : "s"}`;
}

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a map of fields",
  record: "a map of fields",
};

/** Names of the fields that the schema knows at a path. */
function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let at: unknown = schema;
  for (const step of path) {
    at = unwrapped(at);
    if (at instanceof z.ZodArray) at = at.element;
    else if (at instanceof z.ZodObject) at = at.shape[String(step)];
    else return [];
  }
  at = unwrapped(at);
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrapped(schema.unwrap());
  return schema instanceof z.ZodPipe ? unwrapped(schema.out) : schema;
}

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => below(text, typeof step === "number" ? step : String(step)), "");
}
