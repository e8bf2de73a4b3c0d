import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  freePort,
  type Gateway,
  type GatewayOptions,
  gatewayModes,
  removeFolder,
  startGateway,
  startUpstream,
  until,
} from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { chat, send, target, withConfig } from "../e2e/http.ts";
import { declaredKey } from "../e2e/stage.ts";
import { haveEngines, startEngine } from "./engines.ts";
import { type ClientSide, expectKept } from "./history.ts";
import { measureLag } from "./lag.ts";
import { answerLoad, startLoad } from "./load.ts";
import { pause } from "./pause.ts";
import { readBack } from "./read-back.ts";
import { randomOf } from "./seeded.ts";

const PROMISED_MS = 10;
const KILLS = 2;
/** Streams that are open at each kill, whatever else is. */
const HANGING = 4;
/** Answers before each kill, at least. */
const ANSWERS = 30;
const RECORDS_MS = 60_000;

describe.skipIf(!haveEngines(["postgres"])).each(gatewayModes)("an edge that is killed under load, %s", (mode) => {
  test("what it left is taken over: interrupted requests are told, nothing is lost, nothing comes twice", {
    timeout: 180_000,
  }, async () => {
    const seed = Math.floor(Math.random() * 1_000_000_000);
    const upstream = await startUpstream();
    const seen = answerLoad(upstream);
    const postgres = await startEngine("postgres");
    const folder = mkdtempSync(join(tmpdir(), "unigate-killed-"));
    const plain = declaredKey("plain");
    const options: GatewayOptions = {
      mode,
      restart: mode === "mesh",
      env: { ...postgres.env, UNIGATE_DATA_DIR: folder, PORT: String(await freePort()) },
      config: { version: 1, keys: [plain] },
    };
    let gateway = await startGateway(options);
    const lag = measureLag();
    const name = `killed-${seed}`;
    const client: ClientSide[] = [];
    const killedAt: number[] = [];
    const hanging: string[] = [];
    try {
      for (let round = 0; round < KILLS; round++) {
        const keys = { plain: plain.key, limited: plain.key };
        const load = startLoad({ gateway, upstream, keys, random: randomOf(seed + round), name: `${name}-${round}`, everyMs: 10 });
        const open = Array.from({ length: HANGING }, (_, index) => hang(gateway, `${name}-${round}-hanging-${index}`));
        await until(
          "the open ones at the upstream",
          () => seen.filter(({ target }) => target === "hanging").length === HANGING * (round + 1),
        );
        await until("some answers", () => load.asked.length > ANSWERS, 30_000);
        await pause(200);
        killedAt.push(Date.now());
        gateway.kill("edge", "SIGKILL");
        const cut = await Promise.all(open);
        hanging.push(...cut.map(({ trace }) => trace));
        client.push(...cut, ...(await load.stop()));
        gateway = await again(gateway);
      }
      const history = {
        client,
        upstream: seen.filter(({ trace }) => trace.startsWith(name)),
        killedAt,
        graceMs: PROMISED_MS + 3 * lag.worstMs(),
      };
      const log = await readBack(gateway, plain.key, name, history, RECORDS_MS, hanging);
      expectKept({ ...history, log });
      const ended = log.filter(({ trace }) => hanging.includes(trace)).map(({ outcome }) => outcome);
      expect(ended).toEqual(Array.from({ length: KILLS * HANGING }, () => "interrupted"));
      expect(client.filter(({ status }) => status === 200).length).toBeGreaterThan(ANSWERS);
    } finally {
      await gateway.stop();
      await postgres.close();
      await upstream.close();
      removeFolder(folder);
    }

    async function hang(on: Gateway, trace: string): Promise<ClientSide> {
      const startedAt = Date.now();
      const config = withConfig(target(`${upstream.origin}/hanging`));
      const body = { stream: true, messages: [{ role: "user", content: "hello", name: trace }] };
      await chat(on, plain.key, { ...config, "x-gateway-trace-id": trace }, body).catch(() => null);
      return { trace, startedAt, endedAt: Date.now(), status: null };
    }

    /** Started again, by the launcher or by whoever started it, and ready. */
    async function again(before: Gateway): Promise<Gateway> {
      const isReady = (one: Gateway) => async () => (await send(one, "/readyz")).status === 200;
      if (mode === "single") {
        await before.ended;
        await before.stop();
        return startGateway(options);
      }
      const pid = before.pid("edge");
      await until("another edge", () => before.pid("edge") !== pid, 30_000);
      await until("the edge to be ready", isReady(before), 30_000);
      return before;
    }
  });
});
