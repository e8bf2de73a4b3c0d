import { isObject, type JsonObject } from "../json.ts";
import { CREDENTIAL_FIELDS } from "./fields.ts";

/** A config without credentials, and the credentials by option path ("config.targets[0]"). */
export interface CutConfig {
  readonly config: unknown;
  readonly credentials: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** Targets within targets. A config this deep is refused when it is compiled. */
const MAX_DEPTH = 50;

/**
 * Takes every credential out of a config (aliases renamed before). `replace` gives what stands in their place, so
 * that control can leave a sealed value there; by default nothing does.
 */
export function cutCredentials(
  config: unknown,
  replace: (optionPath: string, credentials: Readonly<Record<string, string>>) => JsonObject = () => ({}),
): CutConfig {
  const credentials = new Map<string, Readonly<Record<string, string>>>();
  return { config: cutNode(config, "config", credentials, replace, 0), credentials };
}

function cutNode(
  node: unknown,
  path: string,
  found: Map<string, Readonly<Record<string, string>>>,
  replace: (optionPath: string, credentials: Readonly<Record<string, string>>) => JsonObject,
  depth: number,
): unknown {
  if (!isObject(node)) return node;
  if (depth > MAX_DEPTH) return {};
  const own: Record<string, string> = {};
  const rest: JsonObject = {};
  for (const [name, value] of Object.entries(node)) {
    if (name === "__proto__") continue;
    if (CREDENTIAL_FIELDS.includes(name) && (typeof value === "string" || isObject(value)))
      own[name] = typeof value === "string" ? value : JSON.stringify(value);
    else if (name === "targets" && Array.isArray(value))
      rest[name] = value.map((target, index) => cutNode(target, `${path}.targets[${index}]`, found, replace, depth + 1));
    else rest[name] = value;
  }
  if (Object.keys(own).length === 0) return rest;
  found.set(path, own);
  return { ...rest, ...replace(path, own) };
}
