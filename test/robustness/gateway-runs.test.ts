import { makeGatewayKey } from "@unigate/secrets";
import { freePort, type Gateway, type GatewayService, startGateway, startUpstream, type Upstream, until } from "@unigate/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect } from "vitest";
import { chat, send, target, withConfig } from "../e2e/http.ts";
import { declaredKey } from "../e2e/stage.ts";
import { type Engine, type EngineName, haveEngines, startEngine } from "./engines.ts";
import { expectKept, type UpstreamSide } from "./history.ts";
import { measureLag } from "./lag.ts";
import { answerLoad, isCounted, slowSpans, startLoad } from "./load.ts";
import { pause } from "./pause.ts";
import { readBack } from "./read-back.ts";
import { type Random, randomOf, seededRuns } from "./seeded.ts";

// Short runs against one long-lived mesh: one of its processes is killed or paused, or an engine goes away, at a moment
// that the seed chooses. What was answered meanwhile may be anything but a lie: every request that was let in has its
// records, each once, and no limit is passed.

const ENGINES: readonly EngineName[] = ["redis", "postgres"];
const SERVICES: readonly GatewayService[] = ["edge", "edge", "logging", "policy", "control", "router", "cache", "guardrail", "connector"];
const RETURN_MS = 40_000;
const RECORDS_MS = 40_000;
const PROMISED_MS = 10;
const LIMITS = { least: 3, most: 12 };
/** More keys than runs: each run has a limit of its own. */
const KEYS = 60;

interface Fault {
  readonly what: EngineName | GatewayService;
  readonly how: "killed" | "paused";
}

describe.skipIf(!haveEngines(ENGINES))("a mesh that loses one thing after the other", () => {
  const plain = declaredKey("plain");
  const probe = declaredKey("probe", rpd(100_000));
  const limited = Array.from({ length: KEYS }, (_, index) => {
    const limit = LIMITS.least + (index % (LIMITS.most - LIMITS.least + 1));
    return { limit, declared: declaredKey(`limited-${index}`, rpd(limit)) };
  });
  const engines = new Map<EngineName, Engine>();
  let gateway: Gateway;
  let upstream: Upstream;
  let seen: UpstreamSide[];
  let runs = 0;

  beforeAll(async () => {
    upstream = await startUpstream();
    seen = answerLoad(upstream);
    for (const name of ENGINES) engines.set(name, await startEngine(name));
    const env = Object.assign({}, ...[...engines.values()].map((engine) => engine.env)) as Record<string, string>;
    // An edge that is started again listens where it did.
    env["PORT"] = String(await freePort());
    const keys = [plain, probe, ...limited.map(({ declared }) => declared)];
    gateway = await startGateway({ mode: "mesh", restart: true, env, config: { version: 1, keys } });
  });
  afterAll(async () => {
    await gateway.stop();
    for (const engine of engines.values()) await engine.close();
    await upstream.close();
  });
  beforeEach(({ onTestFailed }) => {
    onTestFailed(() => void process.stderr.write(`--- what the gateway said:\n${gateway.output().slice(-20_000)}\n`));
  });

  seededRuns("a gateway of which one thing is lost", { share: 0.1, lanes: 1, timeoutMs: 400_000 }, async (seed) => {
    const random = randomOf(seed);
    const name = `run-${seed}`;
    const own = limited[runs++ % KEYS];
    if (own === undefined) throw new Error("there are no keys");
    const fault: Fault = { what: random.oneOf([...SERVICES, ...ENGINES]), how: random.oneOf(["killed", "killed", "paused"]) };
    await until("all to be well", isWell, RETURN_MS);
    await until("the key to be known, and counted", async () => isCounted(await askOnce(own.declared.key)));
    const lag = measureLag();
    const load = startLoad({ gateway, upstream, keys: { plain: plain.key, limited: own.declared.key }, random, name, everyMs: 14 });
    await pause(random.between(100, 500));
    const from = Date.now();
    const bringBack = await makeFault(fault, random);
    await pause(random.between(50, 300));
    const client = await load.stop();
    await bringBack();
    await until("all to be well again", isWell, RETURN_MS);
    const history = {
      client,
      upstream: seen.filter(({ trace }) => trace.startsWith(`${name}-`)),
      killedAt: fault.what === "edge" && fault.how === "killed" ? [from] : [],
      // A gateway waits for the machine as this process does: to run, and for its files.
      graceMs: PROMISED_MS + 3 * lag.worstMs(),
      limits: { limited: own.limit - 1 },
      uncounted: [...(isCounter(fault.what) ? [{ from, to: Date.now() }] : []), ...slowSpans(client)],
    };
    const log = await readBack(gateway, plain.key, name, history, RECORDS_MS);
    try {
      expectKept({ ...history, log });
      expect(client.length).toBeGreaterThan(5);
    } catch (error) {
      throw new Error(`${fault.what} was ${fault.how}: ${String(error)}`, { cause: error });
    }
  });

  const askOnce = (key: string) => chat(gateway, key, withConfig(target(`${upstream.origin}/first`)));

  async function isWell(): Promise<boolean> {
    if ((await send(gateway, "/readyz")).status !== 200) return false;
    if ((await askOnce(makeGatewayKey())).status !== 401) return false;
    if (!isCounted(await askOnce(probe.key))) return false;
    return (await send(gateway, "/v1/logs?limit=1", { headers: { "x-gateway-api-key": plain.key } })).status === 200;
  }

  /** Makes it; the function that it gives ends it. */
  async function makeFault({ what, how }: Fault, random: Random): Promise<() => Promise<void>> {
    if (what === "redis" || what === "postgres" || what === "kafka") {
      const engine = engines.get(what);
      if (how === "paused") engine?.stall(true);
      else await engine?.stop();
      return async () => (how === "paused" ? engine?.stall(false) : engine?.start());
    }
    if (how === "paused") {
      gateway.kill(what, "SIGSTOP");
      await pause(random.between(50, 400));
      gateway.kill(what, "SIGCONT");
      return async () => {};
    }
    const before = gateway.pid(what);
    gateway.kill(what, "SIGKILL");
    return async () => void (await until(`${what} to be started again`, () => gateway.pid(what) !== before, RETURN_MS));
  }
});

/** Without it nothing is counted. */
function isCounter(what: Fault["what"]): boolean {
  return what === "redis" || what === "policy";
}

function rpd(value: number): object {
  return { rate_limits: [{ type: "requests", unit: "rpd", value }] };
}
