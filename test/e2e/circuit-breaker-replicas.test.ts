import { chatReply, errorReply, type Gateway, requirement, startGateway, startUpstream, type Upstream, until } from "@unigate/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { takeRedisDatabase } from "./engines.ts";
import { chat, QUESTION, send, target, withConfig } from "./http.ts";
import { declaredKey } from "./stage.ts";

const KEY = declaredKey("everything");

/** Two processes, each with a router of its own, that know of each other by Redis alone. */
describe.skipIf(!requirement("redis").available)("circuit breakers of two routers", () => {
  const ending: (() => Promise<void>)[] = [];
  let upstream: Upstream;
  let gateways: readonly Gateway[] = [];
  beforeAll(async () => {
    const redis = await takeRedisDatabase();
    ending.push(() => redis.release());
    upstream = await startUpstream();
    ending.push(() => upstream.close());
    const env = { UNIGATE_REDIS_URL: redis.url };
    const settings = { mode: "single", env, config: { version: 1, keys: [KEY] } } as const;
    gateways = await Promise.all([startGateway(settings), startGateway(settings)]);
    for (const gateway of gateways) ending.push(() => gateway.stop());
  });
  afterAll(async () => {
    for (const end of ending.toReversed()) await end();
  });

  test("what opens at one is left out by the other, which never called it", async () => {
    const [one, other] = gateways;
    if (one === undefined || other === undefined) throw new Error("two gateways were started");
    upstream.always(({ url }) => (url.startsWith("/bad/") ? errorReply(500, "broken") : chatReply("ok")));
    const at = (segment: string) => target(upstream.origin, { custom_host: `${upstream.origin}/${segment}/v1` });
    const config = withConfig({
      strategy: { mode: "fallback", cb_config: { failure_threshold: 3, cooldown_interval: 60_000 } },
      targets: [at("bad"), at("good")],
    });
    const failures = () => upstream.requests.filter(({ url }) => url.startsWith("/bad/")).length;
    async function isLeftOut(gateway: Gateway): Promise<boolean> {
      const before = failures();
      expect((await chat(gateway, KEY.key, config)).status).toBe(200);
      return failures() === before;
    }
    await until("the breaker to open", () => isLeftOut(one));
    const headers = { "x-gateway-api-key": KEY.key };
    const { id } = (await send(other, "/v1/explain", { headers: { ...headers, ...config }, body: QUESTION })).json()["config"] as {
      id: string;
    };
    const called = failures();
    await until("the other to know of it", async () => {
      const told = await send(other, `/v1/circuit-breakers?config=${encodeURIComponent(id)}`, { headers });
      return told.text.includes('"state":"open"');
    });
    for (let index = 0; index < 5; index++) expect(await isLeftOut(other)).toBe(true);
    expect(failures()).toBe(called);
  });
});
