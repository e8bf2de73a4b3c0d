import type { JsonObject } from "@unigate/core";
import {
  chatReply,
  chatStreamReply,
  gatewayModes,
  jsonReply,
  type ReceivedRequest,
  type Reply,
  requirement,
  until,
} from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { type Answer, chat, readStream, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { useSharedStage } from "./shared-stage.ts";
import { useStage } from "./stage.ts";

const SECRET_WORD = "xyzzy";
const none = (over: object = {}): JsonObject => ({
  id: "default.contains",
  parameters: { operator: "none", words: [SECRET_WORD], ...over },
});
const asked = (content: string): object => ({ messages: [{ role: "user", content }] });
/** Longer than what can be held back. */
const LONG = Array.from({ length: 100 }, () => "z".repeat(1_024));

/** What is saved of a guardrail holds where the config says nothing else (behaviour 7.1). */
const declared = (origin: string) => [
  { id: "pg-deny", checks: [none()], actions: { deny: true } },
  { id: "pg-mark", checks: [none()] },
  { id: "pg-beside", checks: [none()], actions: { deny: true, async: true } },
  {
    id: "pg-slow",
    checks: [{ id: "default.webhook", parameters: { webhookURL: `${origin}/hook` } }],
    actions: { deny: true, async: true },
  },
];

describe.each(gatewayModes)("saved guardrails, %s", (mode) => {
  const stage = useSharedStage(mode, ({ origin }) => ({ guardrails: declared(origin) }));
  const here = (over: object): Record<string, unknown> => target(stage.upstream.origin, over);
  const ask = (config: object, body: object = {}): Promise<Answer> => chat(stage.gateway, stage.key, withConfig(here(config)), body);
  async function recordOf(answer: Answer): Promise<JsonObject | undefined> {
    return (await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), 1))[0];
  }
  /** An upstream that is the webhook too. */
  const answering =
    (webhook: () => Reply | Promise<Reply>) =>
    (request: ReceivedRequest): Reply | Promise<Reply> =>
      request.url === "/hook" ? webhook() : chatReply("fine");

  describe("that is saved to run beside the request", () => {
    test.each(["input_guardrails", "output_guardrails"])("in %s is waited for by the log record only", async (field) => {
      let open = (): void => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      stage.upstream.always(answering(() => gate.then(() => jsonReply({ verdict: false, data: { seen: true } }))));
      const answer = await ask({ [field]: ["pg-slow"] });
      expect([answer.status, answer.json()["hook_results"]]).toEqual([200, undefined]);
      await until("the webhook to be asked", () => stage.upstream.requests.some(({ url }) => url === "/hook"));
      open();
      const result = [{ id: "pg-slow", async: true, verdict: false, checks: [{ data: { seen: true } }] }];
      expect(await recordOf(answer)).toMatchObject({
        outcome: "success",
        status: 200,
        hook_results: field.startsWith("input")
          ? { before_request_hooks: result, after_request_hooks: [] }
          : { before_request_hooks: [], after_request_hooks: result },
      });
    });

    test("stands in the record behind those that were waited for", async () => {
      stage.upstream.script(chatReply(SECRET_WORD));
      const answer = await ask({ output_guardrails: ["pg-beside", "pg-mark"] });
      expect(answer.status).toBe(246);
      expect(answer.json()).toMatchObject({ hook_results: { after_request_hooks: [{ id: "pg-mark" }] } });
      expect(await recordOf(answer)).toMatchObject({
        status: 246,
        hook_results: {
          after_request_hooks: [
            { id: "pg-mark", async: false },
            { id: "pg-beside", async: true, verdict: false },
          ],
        },
      });
    });

    test("lets a stream through, and its result is in the record", async () => {
      stage.upstream.script(chatStreamReply(["it is ", SECRET_WORD]));
      const answer = await ask({ output_guardrails: ["pg-beside"] }, { stream: true });
      expect([answer.status, readStream(answer.text).content]).toEqual([200, `it is ${SECRET_WORD}`]);
      expect(await recordOf(answer)).toMatchObject({
        outcome: "success",
        stream: true,
        hook_results: { after_request_hooks: [{ id: "pg-beside", verdict: false, async: true }] },
      });
    });

    test("is waited for where the config says so", async () => {
      const answer = await ask({ input_guardrails: [{ id: "pg-beside", async: false }] }, asked(SECRET_WORD));
      expect([answer.status, stage.upstream.requests.length]).toEqual([446, 0]);
    });
  });

  test("one that the config makes run beside the request changes nothing of it", async () => {
    stage.upstream.script(chatReply("fine"));
    const answer = await ask({ input_guardrails: [{ id: "pg-deny", async: true }] }, asked(SECRET_WORD));
    expect([answer.status, answer.json()["hook_results"]]).toEqual([200, undefined]);
    expect(await recordOf(answer)).toMatchObject({ hook_results: { before_request_hooks: [{ id: "pg-deny", verdict: false }] } });
  });

  test("the record of a request that was denied waits for nothing", async () => {
    const answer = await ask({ input_guardrails: ["pg-deny", "pg-slow"] }, asked(SECRET_WORD));
    expect(answer.status).toBe(446);
    expect(await recordOf(answer)).toMatchObject({ outcome: "denied", hook_results: { before_request_hooks: [{ id: "pg-deny" }] } });
    expect(stage.upstream.requests.length).toBe(0);
  });

  describe("streams", () => {
    test("one that only marks holds nothing back, however long the answer is", async () => {
      stage.upstream.script(chatStreamReply(LONG));
      const answer = await ask({ output_guardrails: ["pg-mark"] }, { stream: true });
      expect([readStream(answer.text).content, readStream(answer.text).done]).toEqual([LONG.join(""), true]);
    });

    test.each([
      ["that denies", "pg-deny"],
      ["that is made to deny", { id: "pg-mark", deny: true }],
    ])("one %s holds the answer back", async (_, guardrail) => {
      stage.upstream.script(chatStreamReply(LONG));
      const answer = await ask({ output_guardrails: [guardrail] }, { stream: true });
      expect(readStream(answer.text)).toMatchObject({ content: "", done: false, error: { code: "hooks_failed" } });
    });
  });
});

describe.skipIf(!requirement("long").available)("saved guardrails while their service is down", () => {
  const strict = none({ failOnError: true });
  const stage = useStage("mesh", {
    restart: true,
    config: () => ({
      version: 1,
      guardrails: [
        { id: "pg-passes", checks: [none()], actions: { deny: true } },
        { id: "pg-denies", checks: [none(), strict], actions: { deny: true } },
        { id: "pg-marks", checks: [strict] },
        { id: "pg-off", checks: [none(), { ...strict, is_enabled: false }], actions: { deny: true } },
        { id: "pg-beside", checks: [strict], actions: { deny: true, async: true } },
      ],
    }),
  });
  const ask = (guardrail: unknown): Promise<Answer> =>
    chat(stage.gateway, stage.key, withConfig(target(stage.upstream.origin, { input_guardrails: [guardrail] })), asked(SECRET_WORD));

  test("its errors pass, unless what is saved says that they count", async () => {
    stage.upstream.always(chatReply("fine"));
    const guardrails = ["pg-passes", "pg-denies", "pg-marks", "pg-off", "pg-beside", { id: "pg-denies", deny: false }];
    const statuses = async (): Promise<number[]> => Promise.all(guardrails.map(async (guardrail) => (await ask(guardrail)).status));
    expect(await statuses()).toEqual([446, 446, 246, 446, 200, 246]);
    const launch = stage.gateway.takeDown("guardrail");
    await until("the service to be away", async () => (await ask("pg-passes")).status === 200);
    expect(await statuses()).toEqual([200, 446, 246, 200, 200, 246]);
    launch();
  });
});
