import { randomBytes } from "node:crypto";
import {
  chatReply,
  type Gateway,
  type GatewayEdge,
  requirement,
  startGateway,
  startUpstream,
  type Upstream,
  until,
} from "@unigate/testkit";
import { request } from "undici";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { QUESTION, target, withConfig } from "./http.ts";
import { declaredKey } from "./stage.ts";

// Four edges, each a process, over one policy service: what they let through together is what the limit says, however
// many ask at once, and whether or not one of them dies meanwhile.

const LIMIT = 50;
const CALLS = 400;
const EDGES = 4;
const HOUR_MS = 3_600_000;

/** Processes that all want the same two cores may be late; what is proven is the count. */
const PATIENT = { UNIGATE_LIMIT_TIMEOUT_MS: "30000" };
/** Nobody else's counters are in this organisation. */
const organisation = `exact-${randomBytes(6).toString("hex")}`;
const hourly = (name: string) => declaredKey(name, { organisation, rate_limits: [{ type: "requests", unit: "rph", value: LIMIT }] });
const redis = requirement("redis");
const stores = [
  { store: "memory", available: requirement("long").available, env: PATIENT },
  { store: "Redis", available: redis.available, env: { ...PATIENT, UNIGATE_REDIS_URL: redis.at } },
];

/** Status and what is left of the limit; status 0 = no answer came. */
interface Outcome {
  readonly edge: GatewayEdge;
  readonly status: number;
  readonly left: string | undefined;
}

describe.each(stores)(`${EDGES} edges that count in $store`, ({ available, env }) => {
  describe.skipIf(!available)("a limit of one key", () => {
    const [calm, deadly] = [hourly("calm"), hourly("deadly")];
    let gateway: Gateway;
    let upstream: Upstream;
    beforeAll(async () => {
      upstream = await startUpstream();
      gateway = await startGateway({ mode: "mesh", edges: EDGES, env, config: { version: 1, keys: [calm, deadly] } });
    });
    afterAll(async () => {
      await gateway?.stop();
      await upstream.close();
    });
    beforeEach(async ({ onTestFailed }) => {
      upstream.reset();
      onTestFailed(() => void process.stderr.write(`--- what the gateway said:\n${gateway.output()}\n`));
      await until("an hour that lasts a while", () => Date.now() % HOUR_MS < HOUR_MS - 50_000, 60_000);
    });

    async function ask(edge: GatewayEdge, key: { readonly key: string }): Promise<Outcome> {
      const headers = { "x-gateway-api-key": key.key, "content-type": "application/json", ...withConfig(target(upstream.origin)) };
      const body = JSON.stringify({ ...QUESTION, model: `asked-${gateway.edges.indexOf(edge)}` });
      try {
        const answer = await request(`${edge.origin}/v1/chat/completions`, { method: "POST", headers, body });
        await answer.body.dump();
        return { edge, status: answer.statusCode, left: answer.headers["x-ratelimit-remaining-requests"] as string | undefined };
      } catch {
        return { edge, status: 0, left: undefined };
      }
    }

    /** All calls at once, spread over the edges. */
    function askAll(key: { readonly key: string }): Promise<Outcome[]> {
      const edges = Array.from({ length: CALLS }, (_, index) => gateway.edges[index % EDGES]);
      return Promise.all(edges.flatMap((edge) => (edge === undefined ? [] : [ask(edge, key)])));
    }
    const countOf = (outcomes: readonly Outcome[], status: number): number => outcomes.filter((one) => one.status === status).length;

    test(`of ${CALLS} calls at once exactly ${LIMIT} pass`, async () => {
      expect(new Set(gateway.edges.map(({ pid }) => pid)).size).toBe(EDGES);
      upstream.always(chatReply("ok"));
      const outcomes = await askAll(calm);
      expect([countOf(outcomes, 200), countOf(outcomes, 429)]).toEqual([LIMIT, CALLS - LIMIT]);
      expect(upstream.requests.length).toBe(LIMIT);
      // No two were told the same rest, on whichever edge.
      const left = outcomes.filter(({ status }) => status === 200).map((one) => Number(one.left));
      expect(left.toSorted((one, other) => one - other)).toEqual(Array.from({ length: LIMIT }, (_, index) => index));
    });

    test("an edge that is killed gives nothing away: what it had reserved stays counted", async () => {
      let open = (): void => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      upstream.always(async () => {
        await gate;
        return chatReply("ok");
      });
      const [, victim] = gateway.edges;
      if (victim?.pid === undefined) throw new Error("there is a second edge");
      const ofVictim = () => upstream.requests.filter(({ body }) => body.includes('"asked-1"')).length;
      // A few first: of all at once the calls of one edge alone may reach the limit.
      const first = Array.from({ length: LIMIT / 10 }, () => ask(victim, deadly));
      await until("its calls to be under way", () => ofVictim() === first.length, 30_000);
      const asked = askAll(deadly);
      await until("calls of others to be under way", () => upstream.requests.length >= LIMIT / 2, 30_000);
      process.kill(victim.pid, "SIGKILL");
      open();
      const outcomes = [...(await Promise.all(first)), ...(await asked)];

      const passed = countOf(outcomes, 200);
      // Its calls that were under way got no answer, and nobody got their place.
      expect(ofVictim()).toBeGreaterThan(0);
      expect(passed).toBeLessThan(LIMIT);
      expect(upstream.requests.length).toBeLessThanOrEqual(LIMIT);
      expect(passed).toBe(
        upstream.requests.length - ofVictim() + outcomes.filter((one) => one.edge === victim && one.status === 200).length,
      );
      const alive = gateway.edges.filter((edge) => edge !== victim);
      expect(
        countOf(
          outcomes.filter(({ edge }) => edge !== victim),
          0,
        ),
      ).toBe(0);
      for (const edge of alive) expect(await ask(edge, deadly)).toMatchObject({ status: 429, left: "0" });
      expect(countOf(outcomes, 429)).toBeGreaterThan(0);
    });
  });
});
