import { chatReply, errorReply, gatewayModes, type Script, until } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { type Answer, chat, send, target, withConfig } from "./http.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey } from "./stage.ts";

const COOLDOWN = 60_000;
const STRANGER = declaredKey("stranger to breakers", { organisation: "org-stranger", scopes: ["configs.read", "completions.write"] });
const READER = declaredKey("reader", { scopes: ["configs.read"] });
const NO_READER = declaredKey("no-reader", { scopes: ["completions.write"] });

describe.each(gatewayModes)("circuit breakers, %s", (mode) => {
  const stage = useSharedStage(mode, ({ origin }) => ({
    providers: [{ slug: "breaking", provider: "openai", api_key: "sk-saved", custom_host: `${origin}/saved/v1` }],
    keys: [STRANGER, READER, NO_READER],
    configs: [
      {
        id: "pc-breaker",
        config: {
          strategy: { mode: "fallback", cb_config: { failure_threshold: 2, cooldown_interval: COOLDOWN } },
          targets: [{ provider: "@breaking" }, { provider: "@breaking", override_params: { model: "second" } }],
        },
      },
    ],
  }));

  const at = (segment: string): object => target(stage.upstream.origin, { custom_host: `${stage.upstream.origin}/${segment}/v1` });
  const breaking = (name: string, over: object = {}, strategy: object = {}): object => ({
    strategy: { mode: "fallback", cb_config: { failure_threshold: 3, cooldown_interval: COOLDOWN, ...over }, ...strategy },
    targets: [at(`${name}-bad`), at(`${name}-good`)],
  });
  const ask = (config: object | string): Promise<Answer> =>
    chat(stage.gateway, stage.key, typeof config === "string" ? { "x-gateway-config": config } : withConfig(config), {});
  const byPath: Script = ({ url }) => (url.includes("-bad/") ? errorReply(500, "broken") : chatReply("ok"));
  const calls = (segment: string): number => stage.upstream.requests.filter(({ url }) => url.startsWith(`/${segment}/`)).length;
  const used = (answer: Answer): unknown => answer.headers["x-gateway-last-used-option-index"];

  /** Asks until the first target is not called any more, and says how often it was. */
  async function opened(config: object | string, segment: string): Promise<number> {
    await until(`the breaker of ${segment} to open`, async () => {
      const before = calls(segment);
      await ask(config);
      return calls(segment) === before;
    });
    return calls(segment);
  }

  test("fallback does not call a target that failed too often", async () => {
    stage.upstream.always(byPath);
    const config = breaking("a");
    for (let index = 1; index <= 3; index++) {
      expect(used(await ask(config))).toBe("config.targets[1]");
      expect(calls("a-bad")).toBe(index);
    }
    const failures = await opened(config, "a-bad");
    for (let index = 0; index < 5; index++) expect(used(await ask(config))).toBe("config.targets[1]");
    expect(calls("a-bad")).toBe(failures);
  });

  test("load balancing chooses among the others", async () => {
    stage.upstream.always(byPath);
    const config = breaking("b", {}, { mode: "loadbalance" });
    await until("only the good target to be chosen", async () => {
      const before = calls("b-bad");
      for (let index = 0; index < 12; index++) await ask(config);
      return calls("b-bad") === before;
    });
    expect(calls("b-bad")).toBeGreaterThanOrEqual(3);
    for (let index = 0; index < 12; index++) expect((await ask(config)).status).toBe(200);
  });

  test("when every breaker is open, all targets are used", async () => {
    stage.upstream.always(errorReply(503, "all broken"));
    const config = breaking("c", { failure_threshold: 1 });
    // The outcomes of one request may come in two reports: between them the second target alone is left.
    await until("five requests in a row to call both", async () => {
      for (let index = 0; index < 5; index++) {
        const before = [calls("c-bad"), calls("c-good")] as const;
        expect((await ask(config)).status).toBe(503);
        if (calls("c-bad") === before[0] || calls("c-good") === before[1]) return false;
      }
      return true;
    });
  });

  test("statuses that are no failures open nothing", async () => {
    stage.upstream.always(({ url }) => (url.includes("-bad/") ? errorReply(429, "slow down") : chatReply("ok")));
    const config = breaking("d", { failure_threshold: 1 });
    for (let index = 1; index <= 6; index++) await ask(config);
    expect(calls("d-bad")).toBe(6);
    await opened(breaking("d", { failure_threshold: 1, failure_status_codes: [429] }), "d-bad");
  });

  test("a saved config", async () => {
    stage.upstream.always(({ body }) => (String(body).includes("second") ? chatReply("ok") : errorReply(500, "broken")));
    const total = (): number => stage.upstream.requests.filter(({ body }) => !String(body).includes("second")).length;
    await until("the breaker to open", async () => {
      const before = total();
      expect(used(await ask("pc-breaker"))).toBe("config.targets[1]");
      return total() === before;
    });
    expect(total()).toBeGreaterThanOrEqual(2);
    const list = await breakersOf("pc-breaker");
    expect(list.status, list.text).toBe(200);
    expect(list.json()).toEqual({
      object: "list",
      config: "pc-breaker",
      data: [
        { option_path: "config.targets[0]", state: "open", failures: 2, successes: 0, open_until: expect.any(String) },
        { option_path: "config.targets[1]", state: "closed", failures: 0, successes: 0, open_until: null },
      ],
    });
  });

  const breakersOf = (id: string, key = READER.key): Promise<Answer> =>
    send(stage.gateway, `/v1/circuit-breakers?config=${encodeURIComponent(id)}`, { headers: { "x-gateway-api-key": key } });

  test("are told only to their organisation, by a key that may read configs", async () => {
    expect((await breakersOf("pc-breaker", STRANGER.key)).status).toBe(404);
    expect((await breakersOf("pc-breaker", NO_READER.key)).status).toBe(403);
    expect((await breakersOf("pc-none")).status).toBe(404);
    for (const id of ["", "x", "sha256:12", `pc-${"x".repeat(300)}`]) expect((await breakersOf(id)).status, id).toBe(400);
    const unknown = await breakersOf(`sha256:${"0".repeat(64)}`);
    expect([unknown.status, unknown.json()["data"]]).toEqual([200, []]);
  });
});
