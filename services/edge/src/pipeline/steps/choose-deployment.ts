import { bufferOfJson, GatewayError, isObject, type JsonObject } from "@unigate/core";
import type { ResolvedTarget } from "./resolve-target.ts";

const NAMED = Buffer.from('"deployments"');

/**
 * Of a target with `deployments` the one whose alias is the model, else its default: its id and version of the API become
 * the target's settings (behaviour 1.4). A request without a model and a target without a default stay as they are.
 * Throws unknown_deployment.
 */
export function chooseDeployment(resolved: ResolvedTarget, model: string): ResolvedTarget {
  const { target } = resolved;
  if (!target.settingsJson.includes(NAMED)) return resolved;
  const { deployments, ...rest } = JSON.parse(target.settingsJson.toString("utf8")) as JsonObject;
  const all = Array.isArray(deployments) ? deployments.filter(isObject) : [];
  const chosen = all.find(({ alias }) => alias === model && model !== "") ?? all.find(({ is_default }) => is_default === true);
  if (chosen !== undefined) {
    const { deployment_id, api_version } = chosen;
    return { ...resolved, target: { ...target, settingsJson: bufferOfJson({ ...rest, deployment_id, api_version }) } };
  }
  if (all.length === 0 || model === "") return resolved;
  const known = all.map(({ alias }) => `"${String(alias).slice(0, 80)}"`);
  throw new GatewayError(
    "unknown_deployment",
    `No deployment has the alias "${model.slice(0, 80)}", and none is the default; there are ${known.slice(0, 10).join(", ")}.`,
    { param: "model" },
  );
}
