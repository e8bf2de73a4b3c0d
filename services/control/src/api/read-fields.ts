import { GatewayError } from "@unigate/core";
import type { z } from "zod";
import { type Finding, under } from "../declared/problem.ts";
import { schemaFindings } from "../declared/schema-findings.ts";

/** Problems that one answer tells. */
const MAX_FINDINGS = 10;

/** `value` as the schema reads it. Throws invalid_request with every problem, `param` being the first one's path. */
export function readFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidFields(schemaFindings(schema, result.error.issues.slice(0, MAX_FINDINGS)));
}

/** Throws the findings, if there are any, as faults of the field at `path`. */
export function refuseFindings(
  findings: readonly Finding[],
  path = "",
  code: "invalid_request" | "invalid_config" = "invalid_request",
): void {
  if (findings.length > 0)
    throw invalidFields(
      findings.map((finding) => under(path, finding)),
      code,
    );
}

/** One fault of one field. */
export function invalidField(path: string, message: string): GatewayError {
  return invalidFields([{ path, message }]);
}

function invalidFields(findings: readonly Finding[], code: "invalid_request" | "invalid_config" = "invalid_request"): GatewayError {
  const told = findings.slice(0, MAX_FINDINGS);
  const param = told[0]?.path ?? "";
  const text = told.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
  return new GatewayError(code, `${text}.`, param === "" ? {} : { param });
}
