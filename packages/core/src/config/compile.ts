import { newReading, type Reading } from "../conditions/reading.ts";
import { bufferOfJson, type JsonObject } from "../json.ts";
import { compileConditional } from "./compile-conditional.ts";
import { compileHedge } from "./compile-hedge.ts";
import { compileSticky } from "./compile-sticky.ts";
import { SETTING_FIELDS } from "./fields.ts";
import { type Inherited, inherit, NOTHING_INHERITED } from "./inherit.ts";
import { MAX_PROBLEMS, readConfig } from "./read.ts";
import { joined, modelSlug, nodeProblems } from "./rules.ts";
import type { ConfigNode } from "./schema.ts";
import type { CompiledConfig, CompiledLeaf, CompiledNode, ConfigProblem, Destination, HedgeRule } from "./types.ts";

export type CompileResult =
  | { readonly ok: true; readonly config: CompiledConfig }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

const NO_SETTINGS = Buffer.alloc(0);

/**
 * Validates, inherits and numbers a config whose aliases are renamed and whose credentials are cut out.
 * Pure; edge and router get the same result from the same JSON. `saved` configs are read strictly (DESIGN 8.2).
 */
export function compileConfig(json: unknown, origin: "saved" | "inline"): CompileResult {
  const read = readConfig(json, origin);
  if (!read.ok) return read;
  const problems: ConfigProblem[] = [];
  const building: Building = {
    leaves: [],
    hedges: new Map(),
    problems,
    reading: newReading(problems),
    saved: origin === "saved",
    isMeasured: false,
    isPriced: false,
  };
  const root = compileNode(building, read.node, NOTHING_INHERITED, "", false);
  if (problems.length > 0) return { ok: false, problems: problems.slice(0, MAX_PROBLEMS) };
  const { leaves, hedges, reading } = building;
  // The only target has nothing to be left for: its breaker would always be bypassed.
  const { isMeasured, isPriced } = building;
  const needsRouter = isMeasured || (leaves.length > 1 && leaves.some((leaf) => leaf.breaker !== null));
  const needed = { neededParams: [...reading.params.values()], neededHeaders: [...reading.headers] };
  return { ok: true, config: { root, leaves, hedges, warnings: read.warnings, needsRouter, isMeasured, isPriced, ...needed } };
}

interface Building {
  readonly leaves: CompiledLeaf[];
  readonly hedges: Map<string, HedgeRule>;
  readonly problems: ConfigProblem[];
  /** Of conditions and hash fields. */
  readonly reading: Reading;
  readonly saved: boolean;
  isMeasured: boolean;
  isPriced: boolean;
}

function compileNode(building: Building, node: ConfigNode, parent: Inherited, path: string, isTarget: boolean): CompiledNode {
  building.problems.push(...nodeProblems(node, path, isTarget, building.saved));
  const own = inherit(parent, node);
  const { strategy, targets } = node;
  if (strategy === undefined || targets === undefined) return compileLeaf(building, node, own, path);

  const optionPath = optionPathOf(path);
  const children = targets.map((target, index) => compileNode(building, target, own, joined(path, `targets[${index}]`), true));
  const { select = "weighted" } = strategy;
  if (select === "least_latency" || select === "least_busy") building.isMeasured = true;
  if (select === "lowest_cost") building.isPriced = true;
  switch (strategy.mode) {
    case "loadbalance":
      return {
        kind: "loadbalance",
        select,
        path: optionPath,
        children: children.map((child, index) => ({ weight: targets[index]?.weight ?? 1, node: child })),
        sticky: compileSticky(building.reading, node, path, optionPath),
        hedge: compileHedge(building.hedges, strategy.hedge, optionPath, null),
      };
    case "fallback": {
      const leaveOn = strategy.on_status_codes ?? node.on_status_codes ?? null;
      const leaveOnEach = targets.map((target) => target.on_status_codes ?? leaveOn);
      return {
        kind: "fallback",
        path: optionPath,
        children: children.map((child, index) => ({ leaveOn: leaveOnEach[index] ?? null, node: child })),
        hedge: compileHedge(building.hedges, strategy.hedge, optionPath, leaveOnEach),
      };
    }
    case "conditional":
      return compileConditional(building.reading, node, children, path, optionPath);
    case "single":
      return { kind: "single", child: firstOf(children) };
  }
}

function firstOf(children: readonly CompiledNode[]): CompiledNode {
  const [first] = children;
  if (first === undefined) throw new Error("the schema lets no empty list of targets through");
  return first;
}

function compileLeaf(building: Building, node: ConfigNode, own: Inherited, path: string): CompiledNode {
  const index = building.leaves.length;
  const optionPath = optionPathOf(path);
  building.leaves.push({
    index,
    optionPath,
    name: node.name ?? "",
    destination: destinationOf(node),
    sealedCredentials: node.sealed_credentials ?? null,
    settingsJson: settingsOf(node),
    ...own,
  });
  return { kind: "leaf", leaf: index, optionPath };
}

function optionPathOf(path: string): string {
  return path === "" ? "config" : `config.${path}`;
}

/**
 * `passthrough` leaves it to the request (spec 2.1), a prompt brings its own; else `provider: "@slug"` over
 * `virtual_key` over the slug in `override_params.model` (behaviour 1.1) over a plain provider.
 */
function destinationOf(node: ConfigNode): Destination {
  if (node.passthrough === true) return { kind: "passthrough" };
  if (node.prompt_id !== undefined) return { kind: "prompt", promptId: node.prompt_id };
  const { provider } = node;
  if (provider?.startsWith("@") === true) return { kind: "slug", slug: slugOf(provider) };
  if (node.virtual_key !== undefined) return { kind: "slug", slug: slugOf(node.virtual_key) };
  const slug = modelSlug(node);
  if (slug !== null) return { kind: "slug", slug };
  return provider === undefined ? { kind: "request" } : { kind: "provider", provider };
}

/** The slug of "@slug", "@slug/model" or "slug". */
export function slugOf(text: string): string {
  const start = text.startsWith("@") ? 1 : 0;
  const slash = text.indexOf("/");
  return slash < 0 ? text.slice(start) : text.slice(start, slash);
}

function settingsOf(node: ConfigNode): Buffer {
  const settings: JsonObject = {};
  let some = false;
  for (const field of SETTING_FIELDS) {
    const value = (node as JsonObject)[field];
    if (value === undefined) continue;
    settings[field] = value;
    some = true;
  }
  return some ? bufferOfJson(settings) : NO_SETTINGS;
}
