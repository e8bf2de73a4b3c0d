import { isObject, type JsonObject } from "@unigate/core";
import { below, type Finding } from "./problem.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\$\{|\$\{([^}]*)\}/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * `value` with every ${NAME} in its texts replaced from the environment; "$${" stands for "${" itself. A variable that
 * is not set, or is empty, is a finding that names it.
 */
export function resolveReferences(
  value: unknown,
  environment: Environment,
): { readonly value: unknown; readonly findings: readonly Finding[] } {
  const findings: Finding[] = [];
  return { value: resolveNode(value, "", environment, findings), findings };
}

function resolveNode(value: unknown, path: string, environment: Environment, findings: Finding[]): unknown {
  if (typeof value === "string") return value.includes("${") ? resolveText(value, path, environment, findings) : value;
  if (Array.isArray(value)) return value.map((item, index) => resolveNode(item, below(path, index), environment, findings));
  if (!isObject(value)) return value;
  const resolved: JsonObject = {};
  for (const [name, item] of Object.entries(value)) {
    if (name === "__proto__") findings.push({ path: below(path, name), message: "this name is not allowed" });
    else resolved[name] = resolveNode(item, below(path, name), environment, findings);
  }
  return resolved;
}

function resolveText(text: string, path: string, environment: Environment, findings: Finding[]): string {
  return text.replace(REFERENCE, (whole, name: string | undefined) => {
    if (name === undefined) return "${";
    if (!NAME.test(name)) {
      findings.push({ path, message: 'expected a reference such as ${NAME}; "$${" stands for "${" itself' });
      return whole;
    }
    const found = environment[name];
    if (found !== undefined && found !== "") return found;
    findings.push({ path, message: `the environment variable ${name} is ${found === "" ? "empty" : "not set"}` });
    return whole;
  });
}
