import { makeGatewayKey } from "@unigate/secrets";
import { type Gateway, type GatewayMode, type GatewayService, startGateway, startUpstream, type Upstream, until } from "@unigate/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { chat, send, target, withConfig } from "../e2e/http.ts";
import { declaredKey } from "../e2e/stage.ts";
import { type Engine, type EngineName, haveEngines, startEngine } from "./engines.ts";
import { expectKept, type Span, type UpstreamSide } from "./history.ts";
import { type Asked, answerLoad, isCounted, type Kind, slowSpans, startLoad } from "./load.ts";
import { pause } from "./pause.ts";
import { readBack } from "./read-back.ts";
import { randomOf } from "./seeded.ts";

/** What is taken away, and how. */
export type Away = EngineName | Extract<GatewayService, "control" | "logging">;
const WAYS = ["stops and comes back", "stands still", "is started anew"] as const;
type Way = (typeof WAYS)[number];

/** What every request of the load may be answered with while all is well. */
const FAIR: Readonly<Record<Kind, readonly number[]>> = {
  unary: [200],
  stream: [200],
  cached: [200],
  limited: [200, 429],
  fallback: [200],
  stranger: [401],
};
/** What may be otherwise while something is away. What is not named stays as it is: inference goes on. */
const IN_WEATHER: Readonly<Record<Away, Partial<Record<Kind, readonly number[]>>>> = {
  redis: {},
  postgres: {},
  kafka: {},
  logging: {},
  // Nobody can say of a key that was never seen whether it is one.
  control: { stranger: [401, 503] },
};
/** Away so long; the load comes before, meanwhile and after. */
const AWAY_MS = 1_200;
const BEFORE_MS = 500;
const AFTER_MS = 400;
const EVERY_MS = 14;
/** Longest time of one request, whatever is away, on a busy machine. */
const LONGEST_MS = 8_000;
/** Longest until all is as it was, and until all records are there. */
const RETURN_MS = 30_000;
const RECORDS_MS = 40_000;
const ENOUGH = 60;
const LIMIT = 12;

interface WeatherSuite {
  readonly mode: GatewayMode;
  /** What the gateway uses. */
  readonly engines: readonly EngineName[];
  /** What is taken away from it. */
  readonly away: readonly Away[];
}

/** A gateway under a steady seeded load, from which one thing after the other is taken away in each way. */
export function weatherSuite({ mode, engines, away }: WeatherSuite): void {
  describe.skipIf(!haveEngines(engines))(`bad weather, ${mode}, with ${engines.join(", ")}`, () => {
    const cases = away.flatMap((what) =>
      WAYS.map((way) => ({ what, way, limited: declaredKey(`limited-${what}-${WAYS.indexOf(way)}`, rpd(LIMIT)) })),
    );
    const plain = declaredKey("plain");
    const probe = declaredKey("probe", rpd(100_000));
    const started = new Map<EngineName, Engine>();
    let gateway: Gateway;
    let upstream: Upstream;
    let seen: UpstreamSide[];

    beforeAll(async () => {
      upstream = await startUpstream();
      seen = answerLoad(upstream);
      for (const name of engines) started.set(name, await startEngine(name));
      const env = Object.assign({}, ...[...started.values()].map((engine) => engine.env)) as Record<string, string>;
      const keys = [plain, probe, ...cases.map(({ limited }) => limited)];
      gateway = await startGateway({ mode, restart: mode === "mesh", env, config: { version: 1, keys } });
    });
    afterAll(async () => {
      await gateway.stop();
      for (const engine of started.values()) await engine.close();
      await upstream.close();
    });

    beforeEach(({ onTestFailed }) => {
      const before = gateway.output().length;
      onTestFailed(() => void process.stderr.write(`--- what the gateway said:\n${gateway.output().slice(before)}\n`));
    });

    test.each(cases)("$what $way", async ({ what, way, limited }) => {
      const seed = Math.floor(Math.random() * 1_000_000_000);
      const name = `${what}-${seed}`;
      const keys = { plain: plain.key, limited: limited.key };
      // Known before anything is away.
      await Promise.all([usable(plain.key), counted(probe.key), counted(limited.key)]);
      const load = startLoad({ gateway, upstream, keys, random: randomOf(seed), name, everyMs: EVERY_MS });
      await pause(BEFORE_MS);
      const from = Date.now();
      const bringBack = await takeAway(what, way);
      await pause(AWAY_MS);
      await bringBack();
      await until("all to be as it was", () => isBack(what), RETURN_MS);
      const window: Span = { from, to: Date.now() };
      await pause(AFTER_MS);
      await until("enough requests", () => load.asked.length > ENOUGH, RETURN_MS);
      const client = await load.stop();

      expectAllowed(what, client, window);
      const history = {
        client,
        upstream: seen.filter(({ trace }) => trace.startsWith(`${name}-`)),
        // One of the limit was used before.
        limits: { limited: LIMIT - 1 },
        uncounted: [...(what === "redis" ? [window] : []), ...slowSpans(client)],
      };
      expectKept({ ...history, log: await readBack(gateway, plain.key, name, history, RECORDS_MS) });
      expect((await send(gateway, "/readyz")).status).toBe(200);
    });

    const usable = (key: string): Promise<true> => until("a key to be known", async () => (await askOnce(key)).status === 200);
    // A policy service that does not know the key yet lets it pass uncounted.
    const counted = (key: string): Promise<true> => until("a key to be counted", async () => isCounted(await askOnce(key)));
    const askOnce = (key: string) => chat(gateway, key, withConfig(target(`${upstream.origin}/first`)));

    /** Takes it away; the function that it gives brings it back. */
    async function takeAway(what: Away, way: Way): Promise<() => Promise<void>> {
      if (what === "control" || what === "logging") return takeServiceAway(what, way);
      const engine = started.get(what);
      if (engine === undefined) throw new Error(`${what} was not started`);
      if (way === "stands still") {
        engine.stall(true);
        return async () => engine.stall(false);
      }
      await engine.stop();
      if (way === "stops and comes back") return engine.start;
      await engine.start();
      return async () => {};
    }

    async function takeServiceAway(what: GatewayService, way: Way): Promise<() => Promise<void>> {
      if (way === "stands still") {
        gateway.kill(what, "SIGSTOP");
        return async () => gateway.kill(what, "SIGCONT");
      }
      const before = gateway.pid(what);
      const back = async (): Promise<void> =>
        void (await until(`${what} to be started again`, () => gateway.pid(what) !== before, RETURN_MS));
      if (way === "is started anew") {
        gateway.kill(what, "SIGKILL");
        return back;
      }
      const letLaunch = gateway.takeDown(what);
      return async () => {
        letLaunch();
        await back();
      };
    }

    async function isBack(what: Away): Promise<boolean> {
      if ((await send(gateway, "/readyz")).status !== 200) return false;
      if (what === "redis") return isCounted(await askOnce(probe.key));
      if (what === "control") return (await askOnce(makeGatewayKey())).status === 401;
      return (await send(gateway, "/v1/logs?limit=1", { headers: { "x-gateway-api-key": plain.key } })).status === 200;
    }
  });
}

function rpd(value: number): object {
  return { rate_limits: [{ type: "requests", unit: "rpd", value }] };
}

/** Every answer is one that its time allows, and came in time. */
function expectAllowed(what: Away, client: readonly Asked[], window: Span): void {
  const wrong = client.filter(({ kind, status, startedAt, endedAt }) => {
    const inWeather = startedAt <= window.to && endedAt >= window.from;
    const allowed = (inWeather ? IN_WEATHER[what][kind] : undefined) ?? FAIR[kind];
    return status === null || !allowed.includes(status) || endedAt - startedAt > LONGEST_MS;
  });
  const told = wrong.map(({ trace, kind, status, startedAt, endedAt }) => {
    return `${trace} (${kind}) ${status} after ${endedAt - startedAt} ms, ${startedAt - window.from} ms after ${what} was taken away`;
  });
  expect(told).toEqual([]);
}
