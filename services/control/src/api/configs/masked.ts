import { ADDRESS_SETTINGS, CREDENTIAL_FIELDS, isObject, type JsonObject, renameAliases } from "@unigate/core";
import { type Sealer, sealedFromText } from "@unigate/secrets";
import { invalidField } from "../read-fields.ts";

/** Stands for a saved credential in an answer. Sent back in its place, it says that the credential stays. */
const MASK = "********";

const MAX_DEPTH = 50;

/** A saved config as answers show it: every node that has credentials says so, none is shown. */
export function maskConfig(config: unknown, depth = 0): unknown {
  if (!isObject(config) || depth > MAX_DEPTH) return config;
  const { sealed_credentials, ...rest } = config;
  const shown: JsonObject = sealed_credentials === undefined ? rest : { ...rest, api_key: MASK };
  return Array.isArray(rest["targets"]) ? { ...shown, targets: rest["targets"].map((target) => maskConfig(target, depth + 1)) } : shown;
}

/** What is known of the config that is changed. */
export interface Former {
  readonly id: string;
  readonly organisationId: string;
  readonly config: unknown;
  readonly sealer: Pick<Sealer, "open">;
}

/**
 * A config whose masked credentials are those of the same place in the former one, as long as they go where they went:
 * to the same provider at the same address. Throws where there is none to keep.
 */
export function unmaskConfig(config: unknown, former: Former | null): unknown {
  return unmaskNode(renameAliases(config), former?.config, { path: "config", host: undefined, hostBefore: undefined }, former);
}

/** Where a node stands, and the custom hosts that the nodes around it hand down to it. */
interface NodePlace {
  readonly path: string;
  readonly host: unknown;
  readonly hostBefore: unknown;
}

function unmaskNode(node: unknown, before: unknown, around: NodePlace, former: Former | null): unknown {
  if (!isObject(node)) return node;
  const { path } = around;
  const host = node["custom_host"] ?? around.host;
  const hostBefore = (isObject(before) ? before["custom_host"] : undefined) ?? around.hostBefore;
  const own = withKept(node, before, { path, host, hostBefore }, former);
  const { targets } = own;
  if (!Array.isArray(targets) || path.split(".").length > MAX_DEPTH) return own;
  const targetsBefore = isObject(before) && Array.isArray(before["targets"]) ? before["targets"] : [];
  const unmasked = targets.map((target, index) => {
    return unmaskNode(target, targetsBefore[index], { path: `${path}.targets[${index}]`, host, hostBefore }, former);
  });
  return { ...own, targets: unmasked };
}

/** A node whose masked fields are replaced by what was sealed at its place; what is given anew wins over that. */
function withKept(node: JsonObject, before: unknown, { path, host, hostBefore }: NodePlace, former: Former | null): JsonObject {
  const masked = CREDENTIAL_FIELDS.filter((name) => node[name] === MASK);
  if (masked.length === 0) return node;
  const sealed = isObject(before) ? before["sealed_credentials"] : undefined;
  const field = `${path}.${masked[0]}`;
  if (former === null || !isObject(before) || typeof sealed !== "string") throw invalidField(field, "expected the credential itself");
  const isMoved = ["provider", ...ADDRESS_SETTINGS].some((name) => node[name] !== before[name]);
  if (isMoved || host !== hostBefore)
    throw invalidField(field, "expected the credential itself: it is not kept for another provider or host");
  const kept = former.sealer.open(sealedFromText(sealed), former.organisationId, `${former.id}/${path}`);
  const given = Object.entries(node).filter(([name]) => !masked.includes(name));
  return { ...Object.fromEntries(Object.entries(kept).map(([name, secret]) => [name, secret.reveal()])), ...Object.fromEntries(given) };
}
