import type { JsonObject } from "@unigate/core";
import {
  chatChunk,
  chatReply,
  chatStreamReply,
  errorReply,
  hangReply,
  type ReceivedRequest,
  type Script,
  sseReply,
  until,
} from "@unigate/testkit";
import { beforeEach, describe, expect, test } from "vitest";
import { setups } from "./engines.ts";
import { type Answer, chat, openConnection, QUESTION, requestHead, send, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey } from "./stage.ts";

const DEBUG = { "x-gateway-debug-decision": "true" };
/** So short that a silent upstream is always slower, and so long that no answer is. */
const SOON = 30;
const LATE = 60_000;
/** So that a test which needs second calls has them. */
const OFTEN = { max_extra_percent: 100 };

describe.each(setups)("hedged requests, %s", (mode) => {
  const counted = declaredKey("counted-for-hedges", { rate_limits: [{ type: "requests", unit: "rpd", value: 100 }] });
  const stage = useSharedStage(mode, ({ origin }) => ({
    keys: [counted],
    providers: [
      {
        slug: "hedged-one-at-a-time",
        provider: "openai",
        api_key: "sk-upstream",
        custom_host: `${origin}/slow/v1`,
        rate_limits: [{ type: "concurrency", value: 1 }],
      },
    ],
  }));
  let answers: Record<string, Script> = {};
  let number = 0;

  beforeEach(() => {
    number += 1;
    answers = {};
    stage.upstream.always((request) => {
      const script = answers[segmentOf(request)] ?? errorReply(500, "unscripted");
      return typeof script === "function" ? script(request) : script;
    });
  });

  const segmentOf = ({ url }: ReceivedRequest): string => url.split("/")[1] ?? "";
  const calls = (segment: string): ReceivedRequest[] => stage.upstream.requests.filter((request) => segmentOf(request) === segment);
  const at = (segment: string, over: object = {}): object =>
    target(stage.upstream.origin, { custom_host: `${stage.upstream.origin}/${segment}/v1`, ...over });
  /** A config of its own for each test, so that each begins with its own budget. */
  const config = (hedge: object, segments: readonly string[], strategy: object = {}, over: object = {}): object => ({
    strategy: { mode: "fallback", hedge: { ...OFTEN, ...hedge }, ...strategy },
    targets: segments.map((segment) => at(segment)),
    override_params: { user: `hedge-${mode}-${number}` },
    ...over,
  });
  const ask = (json: object, body: object = {}, key = stage.key): Promise<Answer> =>
    chat(stage.gateway, key, { ...withConfig(json), ...DEBUG }, body);
  const used = ({ headers }: Answer): unknown => headers["x-gateway-last-used-option-index"];
  const traceOf = ({ headers }: Answer): string => String(headers["x-gateway-trace-id"]);
  const hedgeOf = ({ headers }: Answer): unknown =>
    ((JSON.parse(String(headers["x-gateway-decision"])) as JsonObject)["hedges"] as JsonObject[])[0];
  const scriptFor =
    (text: string): Script =>
    ({ body }) =>
      String(body).includes('"stream":true') ? chatStreamReply([text]) : chatReply(text);

  async function closed(segment: string): Promise<void> {
    await until(`the call to ${segment} to be given up`, () => calls(segment).at(-1)?.closed === true);
  }

  test.each([{}, { stream: true }])(
    "the second wins when the first is silent; the first is cancelled and logged once (%j)",
    async (body) => {
      answers = { slow: hangReply(), quick: scriptFor("from the second") };
      const answer = await ask(config({ delay_ms: SOON }, ["slow", "quick", "third"]), body);
      expect(answer.status, answer.text).toBe(200);
      expect(answer.text).toContain("from the second");
      expect(used(answer)).toBe("config.targets[1]");
      await closed("slow");
      const hedge = {
        at: "config",
        delay_ms: SOON,
        second_started: true,
        why_not: null,
        winner: "config.targets[1]",
        loser: "config.targets[0]",
      };
      expect(hedgeOf(answer)).toEqual(hedge);
      const [lost, won] = await logsOf(stage.gateway, stage.key, traceOf(answer), 2);
      expect(lost).toMatchObject({
        option_path: "config.targets[0]",
        attempt: 0,
        outcome: "cancelled",
        status: 499,
        error: null,
        last: false,
        decision: { hedges: [hedge], attempts: [{ option_path: "config.targets[0]", error: "superseded", called: true }] },
      });
      expect(won).toMatchObject({ option_path: "config.targets[1]", attempt: 1, outcome: "success", status: 200, last: true });
      expect([calls("slow").length, calls("quick").length, calls("third").length]).toEqual([1, 1, 0]);
    },
  );

  test("a stream that has begun without content is slow; its connection is closed", async () => {
    answers = { slow: sseReply([chatChunk({ role: "assistant", content: "" })], { ending: "hang" }), quick: scriptFor("quick") };
    const answer = await ask(config({ delay_ms: SOON }, ["slow", "quick"]), { stream: true });
    expect(answer.text).toContain("quick");
    expect(answer.text).toContain("[DONE]");
    await closed("slow");
  });

  test("the first wins when it has content before the second, which is cancelled", async () => {
    let tell = (): void => {};
    const secondCame = new Promise<void>((resolve) => (tell = resolve));
    answers = {
      first: chatReply("from the first", { before: [secondCame] }),
      silent: () => {
        tell();
        return hangReply();
      },
    };
    const answer = await ask(config({ delay_ms: SOON }, ["first", "silent"]));
    expect(answer.text).toContain("from the first");
    expect(hedgeOf(answer)).toMatchObject({ second_started: true, winner: "config.targets[0]", loser: "config.targets[1]" });
    await closed("silent");
    const [won, lost] = await logsOf(stage.gateway, stage.key, traceOf(answer), 2);
    expect(won).toMatchObject({ outcome: "success", last: true });
    expect(lost).toMatchObject({ outcome: "cancelled", option_path: "config.targets[1]" });
  });

  test.each(["fallback", "loadbalance"])("a first that is fast is alone (%s)", async (strategy) => {
    answers = { one: scriptFor("fast"), other: scriptFor("fast") };
    const answer = await ask(config({ delay_ms: LATE }, ["one", "other"], { mode: strategy }));
    expect(answer.status).toBe(200);
    expect(calls("one").length + calls("other").length).toBe(1);
    expect(hedgeOf(answer)).toMatchObject({ second_started: false, why_not: "first_answered", delay_ms: LATE });
    await logsOf(stage.gateway, stage.key, traceOf(answer), 1);
  });

  test("when both fail, the third follows", async () => {
    let tell = (): void => {};
    const secondCame = new Promise<void>((resolve) => (tell = resolve));
    answers = {
      first: () => ({ ...errorReply(503, "first"), before: [secondCame] }),
      second: () => {
        tell();
        return { ...errorReply(502, "second"), before: [50] };
      },
      third: scriptFor("from the third"),
    };
    const answer = await ask(config({ delay_ms: SOON }, ["first", "second", "third"]));
    expect(answer.text).toContain("from the third");
    const records = await logsOf(stage.gateway, stage.key, traceOf(answer), 3);
    expect(records.map(({ option_path: path, status, last }) => [path, status, last])).toEqual([
      ["config.targets[0]", 503, false],
      ["config.targets[1]", 502, false],
      ["config.targets[2]", 200, true],
    ]);
    expect(records[2]).toMatchObject({ decision: { hedges: [{ second_started: true, winner: null, loser: null }] } });
  });

  test("a balancer's second target is tried at once when its first fails, and the later of two failures is the answer", async () => {
    answers = { one: errorReply(503, "busy"), other: errorReply(503, "busy") };
    const failed = await ask(config({ delay_ms: LATE }, ["one", "other"], { mode: "loadbalance" }));
    expect([failed.status, calls("one").length, calls("other").length]).toEqual([503, 1, 1]);
    expect(hedgeOf(failed)).toMatchObject({ second_started: true, winner: null });
    await logsOf(stage.gateway, stage.key, traceOf(failed), 2);
  });

  test("a balancer's second target wins when the one drawn is silent", async () => {
    answers = { slow: hangReply(), quick: scriptFor("quick") };
    const targets = [at("slow", { weight: 1e12 }), at("quick"), at("never", { weight: 0 })];
    const answer = await ask(config({ delay_ms: SOON }, [], { mode: "loadbalance" }, { targets }));
    expect(used(answer)).toBe("config.targets[1]");
    await closed("slow");
    expect(calls("never").length).toBe(0);
  });

  test("the budget holds: none without a percentage, then one for the first and the next when enough is saved", async () => {
    answers = { slow: chatReply("slow", { before: [4 * SOON] }), quick: scriptFor("quick") };
    const never = await ask(config({ delay_ms: SOON, max_extra_percent: 0 }, ["slow", "quick"]));
    expect([used(never), calls("quick").length]).toEqual(["config.targets[0]", 0]);
    expect(hedgeOf(never)).toMatchObject({ second_started: false, why_not: "over_budget" });
    const seldom = config({ delay_ms: SOON, max_extra_percent: 40 }, ["slow", "quick"]);
    const winners: unknown[] = [];
    // 1 at first, 0.4 more each time: 1.4, 0.8, 1.2, 0.6, 1.0.
    for (let index = 0; index < 5; index++) winners.push(used(await ask(seldom)));
    expect(winners.map((path) => path === "config.targets[1]")).toEqual([true, false, true, false, true]);
    const metrics = await (await fetch(`${stage.gateway.origin}/metrics`)).text();
    for (const event of ["started", "second_won", "over_budget"]) expect(metrics).toContain(`unigate_edge_hedges_total{event="${event}"}`);
  });

  test.each([
    ["planned here", {}],
    ["planned by the router", { cb_config: { failure_threshold: 50, cooldown_interval: 30_000 } }],
  ])("a percentile waits for samples, then by them: %s", async (_, over) => {
    answers = { slow: scriptFor("usual"), quick: scriptFor("quick") };
    const json = config({ percentile: 95 }, ["slow", "quick"], {}, over);
    for (let index = 0; index < 20; index++) {
      const answer = await ask(json);
      if (index === 0) expect(hedgeOf(answer)).toMatchObject({ delay_ms: null, why_not: "too_few_samples", second_started: false });
    }
    expect(calls("quick").length).toBe(0);
    answers = { slow: hangReply(), quick: scriptFor("quick") };
    const answer = await ask(json);
    expect(used(answer)).toBe("config.targets[1]");
    expect((hedgeOf(answer) as JsonObject)["delay_ms"]).toEqual(expect.any(Number));
    await closed("slow");
  });

  test("an output check that may deny forbids it", async () => {
    answers = { slow: chatReply("slow", { before: [4 * SOON] }), quick: scriptFor("quick") };
    const checks = [{ id: "default.contains", parameters: { operator: "none", words: ["forbidden"] } }];
    const json = config({ delay_ms: SOON }, ["slow", "quick"], {}, { after_request_hooks: [{ id: "h", deny: true, checks }] });
    const answer = await ask(json);
    expect([answer.status, calls("quick").length]).toEqual([200, 0]);
    expect(hedgeOf(answer)).toMatchObject({ why_not: "may_deny", second_started: false });
  });

  test.each([{}, { stream: true }])("a client that hangs up closes both (%j)", async (body) => {
    answers = { slow: hangReply(), silent: hangReply() };
    const traceId = `hedge-left-${mode}-${number}`;
    const text = JSON.stringify({ ...QUESTION, ...body });
    const headers = { "x-gateway-api-key": stage.key, "x-gateway-trace-id": traceId, "content-type": "application/json" };
    const json = config({ delay_ms: SOON }, ["slow", "silent", "third"]);
    const connection = openConnection(stage.gateway);
    connection.write(
      requestHead("POST /v1/chat/completions", { ...headers, ...withConfig(json), "content-length": String(text.length) }) + text,
    );
    await until("both to be called", () => calls("slow").length === 1 && calls("silent").length === 1);
    connection.leave();
    await Promise.all([closed("slow"), closed("silent")]);
    const records = await logsOf(stage.gateway, stage.key, traceId, 2);
    expect(records.map(({ outcome, status }) => [outcome, status])).toEqual([
      ["cancelled", 499],
      ["cancelled", 499],
    ]);
    expect(calls("third").length).toBe(0);
  });

  test("the limits of a key count the request once", async () => {
    answers = { slow: hangReply(), quick: scriptFor("quick") };
    const left: unknown[] = [];
    for (let index = 0; index < 3; index++) {
      const answer = await ask(config({ delay_ms: SOON }, ["slow", "quick"]), {}, counted.key);
      expect([answer.status, used(answer)]).toEqual([200, "config.targets[1]"]);
      left.push(answer.headers["x-ratelimit-remaining-requests"]);
    }
    expect(left).toEqual(["99", "98", "97"]);
  });

  test("the loser gives back its provider's concurrency", async () => {
    answers = { slow: hangReply(), quick: scriptFor("quick") };
    const json = config({ delay_ms: SOON }, [], {}, { targets: [{ provider: "@hedged-one-at-a-time" }, at("quick")] });
    for (let index = 1; index <= 3; index++) {
      await until("the provider to be free and called", async () => {
        expect((await ask(json)).status).toBe(200);
        return calls("slow").length === index;
      });
      await closed("slow");
    }
  });

  test("explain shows the race", async () => {
    const explained = async (json: object): Promise<unknown> => {
      const answer = await send(stage.gateway, "/v1/explain", {
        headers: { "x-gateway-api-key": stage.key, ...withConfig(json) },
        body: QUESTION,
      });
      expect(answer.status, answer.text).toBe(200);
      return answer.json()["plan"];
    };
    const race = [{ target: "config.targets[0]" }, { target: "config.targets[1]" }];
    expect(await explained(config({ delay_ms: 5 }, ["a", "b", "c"]))).toEqual({
      in_order: [{ race, delay_ms: 5, max_extra_percent: 100, why_not: null }, { target: "config.targets[2]" }],
      go_on_at: "every status outside 200 to 299",
    });
    expect(await explained(config({ percentile: 50 }, ["a", "b"]))).toEqual({
      race,
      delay_ms: null,
      max_extra_percent: 100,
      why_not: "too_few_samples",
    });
  });
});
