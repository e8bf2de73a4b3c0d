import { request } from "node:http";
import type { JsonObject } from "@unigate/core";
import { chatReply, chatStreamReply, errorReply } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { setups } from "./engines.ts";
import { chat, QUESTION, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey } from "./stage.ts";

const DEBUG = { "x-gateway-debug-decision": "true" };

describe.each(setups)("the decision, %s", (mode) => {
  const blind = declaredKey("decides-unseen", { scopes: ["completions.write"] });
  const stage = useSharedStage(mode, () => ({ keys: [blind] }));
  const here = (over: object = {}) => target(stage.upstream.origin, over);
  const balance = (targets: object[]) => ({ strategy: { mode: "loadbalance" }, targets });
  const fallback = (targets: object[]) => ({ strategy: { mode: "fallback" }, targets });

  test("stands in the answer that asks for it and in the log: choices, attempts, and why the next was tried", async () => {
    stage.upstream.script(errorReply(503, "busy"), chatReply("ok"));
    const config = fallback([here(), balance([here({ weight: 0 }), here()])]);
    const answer = await chat(stage.gateway, stage.key, { ...withConfig(config), ...DEBUG });
    expect(answer.status, answer.text).toBe(200);
    const said = JSON.parse(String(answer.headers["x-gateway-decision"])) as JsonObject;
    const decision = {
      choices: [{ at: "config.targets[1]", mode: "loadbalance", weights: [0, 1], chosen: 1 }],
      attempts: [
        { option_path: "config.targets[0]", provider: "openai", status: 503, called: true, went_on: true },
        { option_path: "config.targets[1].targets[1]", status: 200, error: null, went_on: false },
      ],
    };
    expect(said).toMatchObject({ config: { id: expect.stringMatching(/^sha256:/) }, ...decision });
    const [first, last] = await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), 2);
    expect(last).toMatchObject({ decision });
    expect(first).toMatchObject({ decision: { attempts: [{ option_path: "config.targets[0]", went_on: true }] } });
  });

  test("comes with a stream as well, and only when asked for", async () => {
    stage.upstream.script(chatStreamReply(["ok"]), chatReply("ok"));
    const headers = withConfig(fallback([here(), here()]));
    const answer = await chat(stage.gateway, stage.key, { ...headers, ...DEBUG }, { stream: true });
    expect(JSON.parse(String(answer.headers["x-gateway-decision"]))).toMatchObject({ attempts: [{ status: 200 }] });
    expect((await chat(stage.gateway, stage.key, headers)).headers["x-gateway-decision"]).toBeUndefined();
  });

  test("a long one follows the body", async () => {
    const balancers = Array.from({ length: 60 }, () => balance(Array.from({ length: 40 }, () => ({ provider: "mock" }))));
    const { headers, trailers, text } = await askRaw(withConfig(fallback(balancers)));
    expect(headers["trailer"]).toBe("x-gateway-decision");
    expect(JSON.parse(text)).toHaveProperty("choices");
    const said = String(trailers["x-gateway-decision"]);
    expect(said.length).toBeGreaterThan(8 * 1024);
    expect((JSON.parse(said) as { choices: object[] }).choices).toHaveLength(60);
  });

  test("is for keys that may read logs", async () => {
    const answer = await chat(stage.gateway, blind.key, { ...withConfig(here()), ...DEBUG });
    expect(answer.status).toBe(403);
    expect(answer.error()["message"]).toContain("logs.view");
    expect(stage.upstream.requests).toHaveLength(0);
  });

  /** Other clients hide trailers. */
  function askRaw(headers: Record<string, string>) {
    const url = new URL("/v1/chat/completions", stage.gateway.origin);
    const all = { "x-gateway-api-key": stage.key, "content-type": "application/json", ...DEBUG, ...headers };
    return new Promise<{ headers: Record<string, unknown>; trailers: Record<string, unknown>; text: string }>((resolve, reject) => {
      const sent = request(url, { method: "POST", headers: all, maxHeaderSize: 128 * 1024 }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        answer.on("end", () => resolve({ headers: answer.headers, trailers: answer.trailers, text }));
      });
      sent.on("error", reject).end(JSON.stringify(QUESTION));
    });
  }
});
