import { randomUUID } from "node:crypto";
import { chatReply, errorReply, until } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { Canaries } from "./canaries.ts";
import { setups } from "./engines.ts";
import { type Answer, chat, QUESTION, send, target, withConfig } from "./http.ts";
import { logOf, logsOf } from "./logs.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey } from "./stage.ts";

const OWNER = "org-owner";
const STRANGER = "org-stranger";

/** One organisation owns everything here. Another, and another workspace of the first, try each way to it. */
describe.each(setups)("the wall between tenants, %s", (setup) => {
  const canaries = new Canaries();
  const limited = { rate_limits: [{ type: "requests", unit: "rpd", value: 3 }] };
  const owner = declaredKey("owner", { organisation: OWNER, workspace: "ws-one" });
  const neighbour = declaredKey("neighbour", { organisation: OWNER, workspace: "ws-two" });
  const stranger = declaredKey("stranger", { organisation: STRANGER, type: "organisation-service" });
  const ownersLimited = declaredKey("limited", { organisation: OWNER, ...limited });
  const strangersLimited = declaredKey("limited", { organisation: STRANGER, ...limited });
  const others = [
    ["another organisation", stranger.key],
    ["another workspace", neighbour.key],
  ] as const;

  const stage = useSharedStage(setup, ({ origin }) => {
    const inOne = { organisation: OWNER, workspace: "ws-one" };
    const provider = (name: string) => ({ provider: "openai", api_key: canaries.make(name), custom_host: `${origin}/v1` });
    const saved = (over: object) => ({ ...target(origin), ...over });
    const denies = { checks: [{ id: "default.contains", parameters: { operator: "none", words: ["Hello"] } }], actions: { deny: true } };
    return {
      providers: [
        { slug: "vault", ...provider("own-credential"), ...inOne },
        { slug: "shared-name", ...provider("owners-shared"), organisation: OWNER },
        { slug: "shared-name", ...provider("strangers-shared"), organisation: STRANGER },
      ],
      configs: [
        { id: "pc-vault", name: canaries.make("config-name"), config: saved({ cache: { mode: "simple" } }), ...inOne },
        { id: "pc-same", config: saved({ cache: { mode: "simple" } }), organisation: OWNER },
        { id: "pc-same", config: saved({ cache: { mode: "simple" } }), organisation: STRANGER },
      ],
      guardrails: [{ id: "pg-vault", name: canaries.make("guardrail-name"), ...denies, ...inOne }],
      keys: [owner, neighbour, stranger, ownersLimited, strangersLimited],
    };
  });

  const statusOf = (answer: Answer): unknown => answer.headers["x-gateway-cache-status"];

  /** A refusal that says nothing of what is behind the wall. */
  function expectBlind(answer: Answer, status: number, code: string): void {
    expect([answer.status, answer.error()["code"]]).toEqual([status, code]);
    expect(canaries.foundIn(answer.bytes)).toEqual([]);
  }

  describe.each(others)("%s", (_who, key) => {
    test.each([
      ["a saved config", { "x-gateway-config": "pc-vault" }, {}],
      ["a provider by header", { "x-gateway-provider": "@vault" }, {}],
      ["a provider by its model", {}, { model: "@vault/gpt-test" }],
      ["a virtual key", { "x-gateway-virtual-key": "vault" }, {}],
      ["a provider of an inline config", withConfig({ provider: "@vault" }), {}],
      ["a provider of a target", withConfig({ strategy: { mode: "fallback" }, targets: [{ provider: "@vault" }] }), {}],
      ["a guardrail", () => withConfig(target(stage.upstream.origin, { input_guardrails: ["pg-vault"] })), {}],
    ] as const)("%s is as unknown as one that never was", async (_what, given, body) => {
      const headers: Record<string, string> = typeof given === "function" ? given() : given;
      stage.upstream.always(chatReply("never"));
      const theirs = await chat(stage.gateway, key, headers, body);
      const nobodys = await chat(
        stage.gateway,
        key,
        Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replace("vault", "nil")])),
        "model" in body ? { model: body.model.replace("vault", "nil") } : {},
      );
      expectBlind(theirs, nobodys.status, String(nobodys.error()["code"]));
      expect(theirs.status).toBeGreaterThanOrEqual(400);
      expect(theirs.text.replaceAll("vault", "nil")).toBe(nobodys.text);
      expect(stage.upstream.requests).toEqual([]);
    });

    test("the owner's models are not listed", async () => {
      const answer = await send(stage.gateway, "/v1/models", { headers: { "x-gateway-api-key": key } });
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain("@vault/");
    });

    test("logs: not in lists by any filter, not by id, not by the same trace id", async () => {
      const traceId = `wall-${setup}-${randomUUID()}`;
      const word = canaries.make("question");
      stage.upstream.always(chatReply(canaries.make("answer")));
      const asked = await chat(
        stage.gateway,
        owner.key,
        {
          ...withConfig(target(stage.upstream.origin)),
          "x-gateway-trace-id": traceId,
          "x-gateway-metadata": JSON.stringify({ _user: "u" }),
        },
        { messages: [{ role: "user", content: word }] },
      );
      expect(asked.status).toBe(200);
      const [record] = await logsOf(stage.gateway, owner.key, traceId, 1);
      const id = String(record?.["id"]);
      expect((await logOf(stage.gateway, owner.key, id))["id"]).toBe(id);

      const headers = { "x-gateway-api-key": key };
      expectBlind(await send(stage.gateway, `/v1/logs/${id}`, { headers }), 404, "not_found");
      const filters = [`trace_id=${traceId}`, "provider=openai", "model=gpt-test", "status=200", "api_key_id=key-org-owner-owner"];
      for (const filter of ["", ...filters.map((one) => `?${one}`), `?${filters.slice(0, 2).join("&")}`]) {
        const list = await send(stage.gateway, `/v1/logs${filter}`, { headers });
        if (list.status === 200) expect((list.json()["data"] as { id: string }[]).map((one) => one.id)).not.toContain(id);
        expect(canaries.foundIn(list.bytes)).toEqual([]);
      }
      // The same trace id from behind the wall is a record of its own.
      await chat(stage.gateway, key, { ...withConfig(target(stage.upstream.origin)), "x-gateway-trace-id": traceId });
      const [own] = await logsOf(stage.gateway, key, traceId, 1);
      expect(own?.["id"]).not.toBe(id);
      await logsOf(stage.gateway, owner.key, traceId, 1);
    });
  });

  test("one name in two organisations: each reaches its own credential", async () => {
    stage.upstream.always(chatReply("fine"));
    for (const key of [owner.key, stranger.key]) await chat(stage.gateway, key, { "x-gateway-provider": "@shared-name" });
    expect(stage.upstream.requests.map(({ headers }) => canaries.foundIn(String(headers["authorization"])))).toEqual([
      ["owners-shared"],
      ["strangers-shared"],
    ]);
  });

  describe("the cache", () => {
    const question = (): { messages: object[] } => ({ messages: [{ role: "user", content: randomUUID() }] });
    const inline = () => withConfig(target(stage.upstream.origin, { cache: { mode: "simple" } }));

    test.each([
      ["an inline config", inline],
      ["an inline config and one namespace", () => ({ ...inline(), "x-gateway-cache-namespace": "same" })],
      ["saved configs of one id", () => ({ "x-gateway-config": "pc-same" })],
    ])("%s: another organisation never gets what is stored, nor changes it", async (_what, headersOf) => {
      const headers = headersOf();
      const body = question();
      const word = canaries.make("stored");
      stage.upstream.always(chatReply(word));
      const hit = (): Promise<Answer> =>
        until("a hit", async () => {
          const answer = await chat(stage.gateway, neighbour.key, headers, body);
          return statusOf(answer) === "HIT" && answer;
        });
      await hit();

      stage.upstream.always(chatReply("the stranger's"));
      const theirs = await chat(stage.gateway, stranger.key, headers, body);
      expect([theirs.status, statusOf(theirs)]).toEqual([200, "MISS"]);
      expect(canaries.foundIn(theirs.bytes)).toEqual([]);
      await chat(stage.gateway, stranger.key, { ...headers, "x-gateway-cache-force-refresh": "true" }, body);
      // A look-up that takes too long is a miss: its answer is none to store.
      stage.upstream.always(errorReply(500, "nothing to store"));
      expect(canaries.foundIn((await hit()).bytes)).toEqual(["stored"]);
    });
  });

  test("limits: keys of one name count apart", async () => {
    stage.upstream.always(chatReply("fine"));
    const statuses = async (key: string): Promise<number[]> => {
      const seen: number[] = [];
      for (let call = 0; call < 4; call += 1) seen.push((await chat(stage.gateway, key, withConfig(target(stage.upstream.origin)))).status);
      return seen;
    };
    expect(await statuses(ownersLimited.key)).toEqual([200, 200, 200, 429]);
    expect(await statuses(strangersLimited.key)).toEqual([200, 200, 200, 429]);
  });

  test("proxied calls reach no provider of another tenant", async () => {
    stage.upstream.always(chatReply("never"));
    for (const [, key] of others) {
      const answer = await send(stage.gateway, "/v1/embeddings", {
        headers: { "x-gateway-api-key": key, "x-gateway-provider": "@vault" },
        body: { model: QUESTION.model, input: "x" },
      });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(canaries.foundIn(answer.bytes)).toEqual([]);
    }
    expect(stage.upstream.requests).toEqual([]);
  });
});
