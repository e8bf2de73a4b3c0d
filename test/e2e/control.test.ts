import { readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeGatewayKey } from "@unigate/secrets";
import { chatReply, until } from "@unigate/testkit";
import { beforeEach, describe, expect, test } from "vitest";
import { setups } from "./engines.ts";
import { type Answer, chat } from "./http.ts";
import { declaredKey, useStage } from "./stage.ts";

/** mesh.md section 6: changed or revoked within a second; the file is looked at each 250 ms and read once it is steady. */
const PROMISED_MS = 1_000 + 2 * 250;

describe.each(setups)("control, %s", (mode) => {
  const kept = declaredKey("kept");
  const bound = declaredKey("bound", { defaults: { config_id: "pc-main" } });
  const added = declaredKey("added");
  const removed = declaredKey("removed");
  const renewed = declaredKey("renewed");
  const newText = makeGatewayKey();
  const narrowed = declaredKey("narrowed");
  const limited = declaredKey("limited");
  const stage = useStage(mode, {
    env: {
      OPENAI_API_KEY: "sk-from-the-environment",
      TEST_ROUTE_KEY: "sk-by-reference",
      UNIGATE_ADMIN_KEY: "an-admin-key-for-this-suite-123456",
    },
    config: ({ origin }) => declared(origin),
  });
  beforeEach(() => stage.upstream.always(chatReply("ok")));

  /** What the file says at first, with some of it changed. */
  function declared(origin: string, over: object = {}): object {
    return {
      version: 1,
      providers: [
        { slug: "main", provider: "openai", api_key: "${TEST_ROUTE_KEY}", custom_host: `${origin}/main/v1` },
        { slug: "other", provider: "openai", api_key: "sk-other", custom_host: `${origin}/other/v1` },
      ],
      configs: [
        { id: "pc-main", config: { provider: "@main" } },
        { id: "pc-checked", config: { provider: "@main", input_guardrails: ["pg-words"] } },
      ],
      guardrails: [guardrail("nothing of it")],
      keys: [kept, bound, removed, renewed, narrowed, limited],
      ...over,
    };
  }
  function guardrail(word: string): object {
    return {
      id: "pg-words",
      checks: [{ id: "default.contains", parameters: { operator: "none", words: [word] } }],
      actions: { deny: true },
    };
  }
  function edit(over: object): void {
    writeFileSync(stage.gateway.configFile, JSON.stringify(declared(stage.upstream.origin, over), null, 2));
  }
  function ask(key: string, headers: Record<string, string> = { "x-gateway-config": "pc-main" }): Promise<Answer> {
    return chat(stage.gateway, key, headers);
  }
  /** Where the next request with the saved config goes. */
  async function wayOf(key: string): Promise<string> {
    const before = stage.upstream.requests.length;
    const answer = await ask(key);
    return answer.status === 200 ? (stage.upstream.requests[before]?.url ?? "nowhere") : String(answer.status);
  }
  function becomes(key: string, status: number, headers?: Record<string, string>): Promise<Answer> {
    return until(`status ${status}`, async () => {
      const answer = await ask(key, headers);
      return answer.status === status && answer;
    });
  }

  describe("one edit while it runs", () => {
    let tookMs = 0;
    let late: Promise<Answer>;
    let finishLate = (): void => {};

    test("takes effect within the promise", async () => {
      expect(await wayOf(kept.key)).toBe("/main/v1/chat/completions");
      expect((await ask(added.key)).status).toBe(401);
      for (const { key } of [removed, renewed, narrowed, limited]) expect((await ask(key)).status).toBe(200);
      expect((await ask(kept.key, { "x-gateway-config": "pc-checked" })).status).toBe(200);
      const gate = new Promise<void>((resolve) => {
        finishLate = resolve;
      });
      stage.upstream.script(chatReply("late", { before: [gate] }));
      const before = stage.upstream.requests.length;
      late = ask(removed.key);
      await stage.upstream.request(before);

      const started = performance.now();
      edit({
        providers: [
          { slug: "main", provider: "openai", api_key: "sk-rotated", custom_host: `${stage.upstream.origin}/main/v1` },
          { slug: "other", provider: "openai", api_key: "sk-other", custom_host: `${stage.upstream.origin}/other/v1` },
        ],
        configs: [
          { id: "pc-main", config: { provider: "@other" } },
          { id: "pc-checked", config: { provider: "@main", input_guardrails: ["pg-words"] } },
        ],
        guardrails: [guardrail("Hello")],
        keys: [
          kept,
          bound,
          added,
          { ...renewed, key: newText },
          { ...narrowed, scopes: ["logs.view"] },
          { ...limited, rate_limits: [{ type: "requests", unit: "rpd", value: 0 }] },
        ],
      });
      await until("the other way", async () => (await wayOf(kept.key)) === "/other/v1/chat/completions");
      tookMs = performance.now() - started;
      expect(tookMs).toBeLessThan(PROMISED_MS + 500);
    });
    test("a key that is added works, though it was unknown a moment ago", () => becomes(added.key, 200));
    test("a key that is taken away is refused", async () => {
      const answer = await becomes(removed.key, 401);
      expect(answer.error()["code"]).toBe("invalid_key");
    });
    test("its request that was running is answered", async () => {
      finishLate();
      expect((await late).json()).toMatchObject({ choices: [{ message: { content: "late" } }] });
    });
    test("a key with another text is known by the new one only", async () => {
      await becomes(newText, 200);
      await becomes(renewed.key, 401);
    });
    test("a scope that is taken away is gone", () => becomes(narrowed.key, 403));
    test("a limit that is put on a key holds", () => becomes(limited.key, 429));
    test("a guardrail that is edited is another one", () => becomes(kept.key, 446, { "x-gateway-config": "pc-checked" }));
    test("a credential that is edited is used", async () => {
      expect((await ask(kept.key, { "x-gateway-provider": "@main" })).status).toBe(200);
      expect(stage.upstream.requests.at(-1)?.headers["authorization"]).toBe("Bearer sk-rotated");
    });
    test("a file that is renamed into place is noticed like one that is written", async () => {
      const beside = `${stage.gateway.configFile}.new`;
      writeFileSync(beside, JSON.stringify(declared(stage.upstream.origin)));
      renameSync(beside, stage.gateway.configFile);
      await becomes(added.key, 401);
      expect(await wayOf(kept.key)).toBe("/main/v1/chat/completions");
    });
  });

  describe("a broken edit keeps what was, and is told by file, line and field", () => {
    /** What the process log says of the file from now on. */
    async function told(change: () => void): Promise<string> {
      const before = stage.gateway.output().length;
      change();
      return until("the problem in the process log", () => {
        const news = stage.gateway.output().slice(before);
        return news.includes("the last good version stays") && news;
      });
    }

    test.each([
      [
        "an unknown field",
        ["configs:", "  - id: pc-main", '    config: { provider: "@main" }', "    nmae: x"],
        ":5: configs[0].nmae: unknown field",
      ],
      ["no YAML", ["keys: ["], "unigate.yaml:"],
      [
        "a variable that is not set",
        ["providers:", "  - slug: main", "    provider: openai", "    api_key: ${NOT_SET_AT_ALL}"],
        ":5: providers[0].api_key: the environment variable NOT_SET_AT_ALL is not set",
      ],
      [
        "a config that makes no sense",
        ["configs:", "  - id: pc-main", "    config:", "      strategy: { mode: fallbak }", "      targets: []"],
        ":5: configs[0].config.strategy.mode",
      ],
    ])("%s", async (_, lines, problem) => {
      const said = await told(() => writeFileSync(stage.gateway.configFile, ["version: 1", ...lines, ""].join("\n")));
      expect(said).toContain("unigate.yaml");
      expect(said).toContain(problem);
      expect(await wayOf(kept.key)).toBe("/main/v1/chat/completions");
    });

    test("a file that is gone", async () => {
      const said = await told(() => unlinkSync(stage.gateway.configFile));
      expect(said).toContain("cannot be read");
      expect(await wayOf(bound.key)).toBe("/main/v1/chat/completions");
    });

    test("and the next good one is taken", async () => {
      edit({ configs: [{ id: "pc-main", config: { provider: "@other" } }] });
      await until("the other way", async () => (await wayOf(kept.key)) === "/other/v1/chat/completions");
    });
  });

  test("keys of providers come from the environment and from references in the file", async () => {
    expect((await ask(kept.key, { "x-gateway-provider": "@main" })).status).toBe(200);
    expect(stage.upstream.requests.at(-1)?.headers["authorization"]).toBe("Bearer sk-by-reference");
    // That of the environment is there; it is never sent to a host of the caller's choice.
    const answer = await ask(kept.key, { "x-gateway-provider": "@openai", "x-gateway-custom-host": `${stage.upstream.origin}/env/v1` });
    expect([answer.status, answer.error()["code"]]).toEqual([400, "invalid_custom_host"]);
    expect(stage.upstream.requests.some(({ url }) => url.startsWith("/env"))).toBe(false);
  });

  test("the first keys: made once, kept as hashes in a file that nobody else can read", async () => {
    const file = join(stage.gateway.dataDir, mode !== "single" ? "control/keys.json" : "keys.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, "utf8");
    expect(stage.key).toMatch(/^ugw-/);
    expect(text).not.toContain(stage.key.slice(4));
    expect(text).not.toContain("an-admin-key-for-this-suite");
    expect((await ask(stage.key, { "x-gateway-provider": "@main" })).status).toBe(200);
  });
});
