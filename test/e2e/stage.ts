import { makeGatewayKey } from "@unigate/secrets";
import { type Gateway, type GatewayOptions, startGateway, startUpstream, type Upstream } from "@unigate/testkit";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { type OwnEngines, type Setup, takeEngines } from "./engines.ts";

/** A gateway and an upstream for one suite. */
export interface Stage {
  readonly gateway: Gateway;
  readonly upstream: Upstream;
  /** A workspace key with all scopes. */
  readonly key: string;
}

/** Options of a stage's gateway; the config may need the upstream's address. */
export interface StageOptions {
  config?(upstream: Upstream): object | string;
  readonly env?: Readonly<Record<string, string>>;
  /** See GatewayOptions. */
  readonly restart?: boolean;
}

/** A gateway and an upstream that run. */
export interface Started {
  readonly gateway: Gateway;
  readonly upstream: Upstream;
  /** Ends both. */
  close(): Promise<void>;
}

export async function startStage(setup: Setup, options: StageOptions): Promise<Started> {
  const engines: OwnEngines | null = setup === "mesh-engines" ? await takeEngines() : null;
  const upstream = await startUpstream();
  const config = options.config?.(upstream);
  const settings: GatewayOptions = {
    mode: setup === "single" ? "single" : "mesh",
    ...(config === undefined ? {} : { config }),
    env: { ...engines?.env, ...options.env },
    ...(options.restart === undefined ? {} : { restart: options.restart }),
  };
  const gateway = await startGateway(settings).catch(async (error: unknown) => {
    await upstream.close();
    await engines?.release();
    throw error;
  });
  return {
    gateway,
    upstream,
    async close() {
      await gateway.stop();
      await upstream.close();
      await engines?.release();
    },
  };
}

/** Starts an upstream and a gateway before the tests of a suite and stops them after; the upstream is reset between tests. */
export function useStage(setup: Setup, options: StageOptions = {}): Stage {
  return stageOf(
    () => startStage(setup, options),
    (started) => started.close(),
  );
}

/** The stage of a suite, taken before its tests and given back after. */
export function stageOf(take: () => Promise<Started>, giveBack: (started: Started) => Promise<void>): Stage {
  let started: Started | null = null;
  beforeAll(async () => {
    started = await take();
  });
  beforeEach(({ onTestFailed }) => {
    started?.upstream.reset();
    const before = started?.gateway.output().length ?? 0;
    onTestFailed(({ task }) => {
      const said = started?.gateway.output().slice(before) ?? "";
      if (said !== "") process.stderr.write(`--- what the gateway said during "${task.name}":\n${said}\n`);
    });
  });
  afterAll(async () => {
    if (started !== null) await giveBack(started);
  });
  const running = (): Started => {
    if (started === null) throw new Error("the stage is used before its suite began");
    return started;
  };
  return {
    get gateway() {
      return running().gateway;
    },
    get upstream() {
      return running().upstream;
    },
    get key() {
      return running().gateway.workspaceKey;
    },
  };
}

const remembered = new Map<string, unknown>();

/** Proves that every setup gives the same within one file: the first to come is kept, the next must equal it. */
export function expectSameInEveryMode(name: string, value: unknown): void {
  const what = `${expect.getState().testPath ?? ""} ${name}`;
  const text: unknown = JSON.parse(JSON.stringify(value));
  if (remembered.has(what)) expect(text).toEqual(remembered.get(what));
  else remembered.set(what, text);
}

/** A declared key of the default workspace that may do everything, unless said otherwise. */
export function declaredKey(name: string, over: object = {}): { readonly name: string; readonly key: string } {
  return { name, key: makeGatewayKey(), scopes: ["*"], ...over } as { name: string; key: string };
}
