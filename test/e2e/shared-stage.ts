import { renameSync, writeFileSync } from "node:fs";
import { type Upstream, until } from "@unigate/testkit";
import type { Setup } from "./engines.ts";
import { send } from "./http.ts";
import { declaredKey, type Stage, type Started, stageOf, startStage } from "./stage.ts";
import { atWorkerEnd } from "./worker-end.ts";

/** What a suite adds to unigate.yaml. */
export interface Declared {
  readonly providers?: readonly { readonly slug: string }[];
  readonly configs?: readonly { readonly id: string }[];
  readonly workspaces?: readonly { readonly id: string }[];
  readonly guardrails?: readonly { readonly id: string }[];
  readonly keys?: readonly { readonly name: string; readonly key: string }[];
}

type List = keyof Declared;
const LISTS: readonly List[] = ["providers", "configs", "workspaces", "guardrails", "keys"];

/**
 * A gateway and an upstream for suites that need no settings of their own, kill nothing and count nothing that others
 * make: the suites of one worker use one gateway of each setup, one after the other. What a suite declares is added to
 * the file of the running gateway, beside what others declared; a name means one thing.
 */
export function useSharedStage(setup: Setup, declare: (upstream: Upstream) => Declared = () => ({})): Stage {
  return stageOf(
    () => takeStage(setup, declare),
    async () => {},
  );
}

interface SharedStage extends Started {
  /** Of each list of the file, by what tells its things apart. */
  readonly declared: Readonly<Record<List, Map<string, object>>>;
}

const running = new Map<Setup, SharedStage>();

async function takeStage(setup: Setup, declare: (upstream: Upstream) => Declared): Promise<Started> {
  const found = running.get(setup);
  if (found !== undefined) {
    await addTo(found, declare(found.upstream));
    return found;
  }
  const declared = { providers: new Map(), configs: new Map(), workspaces: new Map(), guardrails: new Map(), keys: new Map() };
  const started = await startStage(setup, {
    config(upstream) {
      merge(declared, declare(upstream));
      return fileOf(declared);
    },
  });
  const stage = { ...started, declared };
  running.set(setup, stage);
  // One that a suite has killed by a bug is not the next one's fault.
  void started.gateway.ended.then(() => running.delete(setup));
  atWorkerEnd(() => started.close());
  return stage;
}

/** Resolves when requests find it. A new key is found by the edge once control has read the file. */
async function addTo({ gateway, declared }: SharedStage, own: Declared): Promise<void> {
  if (!merge(declared, own)) return;
  const marker = declaredKey(`of version ${declared.keys.size}`);
  merge(declared, { keys: [marker] });
  const beside = `${gateway.configFile}.new`;
  writeFileSync(beside, JSON.stringify(fileOf(declared)));
  renameSync(beside, gateway.configFile);
  const headers = { "x-gateway-api-key": marker.key };
  await until("what the suite declares", async () => (await send(gateway, "/v1/models", { headers })).status === 200);
}

function fileOf(declared: SharedStage["declared"]): object {
  return { version: 1, ...Object.fromEntries(LISTS.map((list) => [list, [...declared[list].values()]])) };
}

/** Says whether anything was new. Throws when a name would mean two things. */
function merge(declared: SharedStage["declared"], own: Declared): boolean {
  let isNew = false;
  for (const list of LISTS) {
    for (const thing of own[list] ?? []) {
      const name = nameOf(thing);
      const known = declared[list].get(name);
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(thing))
        throw new Error(`${list}: ${name} is declared by another suite too; give it another name here, or use a stage of its own`);
      isNew ||= known === undefined;
      declared[list].set(name, thing);
    }
  }
  return isNew;
}

/** What the file tells things of one list apart by. */
function nameOf(thing: object): string {
  const { slug, id, name, organisation, workspace } = thing as Readonly<Record<string, unknown>>;
  return JSON.stringify([slug ?? id ?? name, organisation, workspace]);
}
