import { isObject, type JsonObject } from "@unigate/core";
import { type Environment, resolveReferences } from "./env-references.ts";
import { type Declared, declaredSchema } from "./grammar.ts";
import { withOwnNames } from "./own-names.ts";
import type { Finding, Problem } from "./problem.ts";
import { schemaFindings } from "./schema-findings.ts";
import { readYaml } from "./yaml-file.ts";

/** A declared file whose shape is right; what its parts say about each other is not checked yet. */
export type ReadDeclared =
  | { readonly ok: true; readonly declared: Declared; readonly problemsOf: (findings: readonly Finding[]) => Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const MAX_PROBLEMS = 50;

/** Reads unigate.yaml: YAML, then ${ENV} references, then the grammar. All problems of the first step that has some. */
export async function readDeclared(path: string, environment: Environment): Promise<ReadDeclared> {
  const read = await readYaml(path);
  if (!read.ok) return { ok: false, problems: read.findings.map((finding) => ({ file: path, ...finding })) };
  const { file } = read;
  const problemsOf = (findings: readonly Finding[]): Problem[] =>
    findings.slice(0, MAX_PROBLEMS).map(({ path: place, message }) => ({ file: path, line: file.lineOf(place), path: place, message }));
  if (!isObject(file.value))
    return { ok: false, problems: problemsOf([{ path: "", message: 'expected a map that begins with "version: 1"' }]) };

  const resolved = resolveReferences(tidied(file.value), environment);
  const result = declaredSchema.safeParse(resolved.value);
  const findings = [...resolved.findings, ...(result.success ? [] : schemaFindings(declaredSchema, result.error.issues))];
  if (!result.success || findings.length > 0) return { ok: false, problems: problemsOf(findings) };
  return { ok: true, declared: result.data, problemsOf };
}

/** Empty sections left out, and the aliases of providers' fields renamed ("aws_region" is "cloud_region"). */
function tidied(file: JsonObject): JsonObject {
  const named = Object.fromEntries(Object.entries(file).filter(([, value]) => value !== null));
  const { providers } = named;
  if (Array.isArray(providers)) named["providers"] = providers.map((item: unknown) => (isObject(item) ? withOwnNames(item) : item));
  return named;
}
