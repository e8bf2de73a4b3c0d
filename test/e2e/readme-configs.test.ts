import type { JsonObject } from "@unigate/core";
import {
  chatReply,
  chatStreamReply,
  errorReply,
  gatewayModes,
  hangReply,
  jsonReply,
  type ReceivedRequest,
  type Reply,
  until,
} from "@unigate/testkit";
import { beforeAll, describe, expect, test } from "vitest";
import { type Answer, chat, QUESTION, readStream, send } from "./http.ts";
import { logsOf } from "./logs.ts";
import { printedExamples } from "./printed-examples.ts";
import { declaredKey, useStage } from "./stage.ts";

const PROVIDERS = ["openai", "anthropic", "groq", "cerebras"] as const;
type Slug = (typeof PROVIDERS)[number];
type Replies = Readonly<Partial<Record<Slug, readonly Reply[]>>>;

const USED = "x-gateway-last-used-option-index";
const RETRIES = "x-gateway-retry-attempt-count";
const CACHE = "x-gateway-cache-status";
const PROVIDER = "x-gateway-provider";
const DEBUG = { "x-gateway-debug-decision": "true" };

const examples = printedExamples("README.md", "Configs").filter(({ language }) => language === "json");

const metadata = (of: object): Record<string, string> => ({ "x-gateway-metadata": JSON.stringify(of) });
const late = (ms: number): Reply => ({ ...chatReply("late"), before: [ms] });
/** A stream that begins and then is silent. */
const stuck = (pieces: Reply["pieces"]): Reply => ({ ...chatStreamReply([]), pieces, ending: "hang" });
/** An answer that is none of OpenAI's. */
const claude = (text: string): Reply =>
  jsonReply({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-test",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 3 },
  });

/** Each provider answers from its own list, whose last reply stays. */
function answersOf(replies: Replies): (request: ReceivedRequest) => Reply {
  const left = new Map(Object.entries(replies).map(([slug, list]) => [slug, [...list]]));
  return (request) => {
    const list = left.get(providerOf(request)) ?? [];
    return (list.length > 1 ? list.shift() : list[0]) ?? errorReply(500, `nothing is scripted for ${request.url}`);
  };
}

/** The provider that the gateway wanted, by the first segment of the path. */
function providerOf({ url }: ReceivedRequest): string {
  return url.split("/")[1] ?? "";
}

const STREAMS = "Streams that do not hang";
const READER = declaredKey("reader of the README");

describe.each(gatewayModes)("the configs that README.md prints, %s", (mode) => {
  const stage = useStage(mode, {
    config: ({ origin }) => ({
      version: 1,
      keys: [READER],
      providers: PROVIDERS.map((slug) => ({ slug, provider: slug, api_key: `sk-${slug}`, custom_host: `${origin}/${slug}` })),
    }),
  });
  const saved = new Map<string, string>();
  const covered: string[] = [];

  beforeAll(async () => {
    for (const { title, text } of examples) {
      const body = { name: title, config: JSON.parse(text) as JsonObject };
      const answer = await send(stage.gateway, "/v1/configs", { headers: { "x-gateway-api-key": READER.key }, body });
      expect(answer.status, `${title}: ${answer.text}`).toBe(200);
      saved.set(title, String((answer.json()["data"] as JsonObject)["slug"]));
    }
  });

  const received = (): string[] => stage.upstream.requests.map(providerOf);
  const sent = (index: number): JsonObject => JSON.parse(String(stage.upstream.requests[index]?.body)) as JsonObject;
  const modelsSent = (): unknown[] => stage.upstream.requests.map((_, index) => sent(index)["model"]);
  const choicesOf = (answer: Answer): JsonObject[] =>
    (JSON.parse(String(answer.headers["x-gateway-decision"])) as { choices: JsonObject[] }).choices;

  interface Example {
    readonly id: () => string;
    ask(body?: object, headers?: Readonly<Record<string, string>>): Promise<Answer>;
    /** What the upstream's providers do until the next time this is said. */
    answers(replies: Replies): void;
  }

  const idOf = (title: string): string => saved.get(title) ?? `README.md has no "${title}"`;

  function asking(title: string): Example["ask"] {
    return (body = {}, headers = {}) => chat(stage.gateway, READER.key, { "x-gateway-config": idOf(title), ...headers }, body);
  }

  /** Tests of the block under that heading, which is saved as it is printed. */
  function example(title: string, define: (example: Example) => void): void {
    covered.push(title);
    const id = (): string => idOf(title);
    describe(title, () =>
      define({
        id,
        ask: asking(title),
        answers: (replies) => stage.upstream.always(answersOf(replies)),
      }),
    );
  }

  example("Fallback with retries and a timeout", ({ ask, answers }) => {
    const busy = errorReply(429, "busy", { "retry-after-ms": "1" });

    test("two more tries, then the second target", async () => {
      answers({ openai: [busy], anthropic: [claude("second")] });
      const answer = await ask();
      expect([answer.status, answer.headers[USED], answer.headers[PROVIDER]]).toEqual([200, "config.targets[1]", "anthropic"]);
      expect(received()).toEqual(["openai", "openai", "openai", "anthropic"]);
      expect(modelsSent().slice(2)).toEqual(["gpt-4.1-mini", "claude-haiku-4-5"]);
    });

    test("a try that succeeds is the answer, and says how many there were", async () => {
      answers({ openai: [busy, chatReply("first")] });
      const answer = await ask();
      expect([answer.status, answer.headers[USED], answer.headers[RETRIES]]).toEqual([200, "config.targets[0]", "1"]);
    });

    test("a status that is not listed is the answer at once", async () => {
      answers({ openai: [errorReply(400, "bad")] });
      expect((await ask()).status).toBe(400);
      expect(received()).toEqual(["openai"]);
    });
  });

  example("Load balancing that keeps a user where they are", ({ ask, answers }) => {
    test("a user stays, users are spread by weight", async () => {
      answers({ openai: [chatReply("ok")], groq: [chatReply("ok")] });
      const used = new Set<unknown>();
      for (let user = 0; used.size < 2 || user < 10; user++) {
        const headers = { ...metadata({ _user: `user-${user}` }), ...DEBUG };
        const first = await ask({}, headers);
        expect(choicesOf(first)).toMatchObject([{ mode: "loadbalance", sticky: true, weights: [3, 1] }]);
        for (let again = 0; again < 3; again++) expect((await ask({}, headers)).headers[USED]).toBe(first.headers[USED]);
        used.add(first.headers[USED]);
      }
      expect(used).toEqual(new Set(["config.targets[0]", "config.targets[1]"]));
    });
  });

  example("Conditions on metadata, parameters and headers", ({ ask, answers }) => {
    test.each<[what: string, body: object, headers: Record<string, string>, target: number]>([
      ["metadata", {}, metadata({ plan: "team" }), 0],
      ["a header and a parameter", { max_tokens: 4001 }, { "x-region": "eu" }, 0],
      ["the header alone", { max_tokens: 4000 }, { "x-region": "eu" }, 2],
      ["the parameter alone", { max_tokens: 4001 }, {}, 2],
      ["the model", { model: "fast-chat" }, {}, 1],
      ["the model, but metadata comes first", { model: "fast-chat" }, metadata({ plan: "pro" }), 0],
      ["nothing", { model: "breakfast-chat" }, metadata({ plan: "free" }), 2],
    ])("%s", async (_, body, headers, chosen) => {
      answers({ openai: [chatReply("ok")], groq: [chatReply("ok")], anthropic: [claude("ok")] });
      const answer = await ask(body, { ...headers, ...DEBUG });
      expect([answer.status, answer.headers[USED]], answer.text).toEqual([200, `config.targets[${chosen}]`]);
      expect(modelsSent()).toEqual([["claude-sonnet-4-5", "llama-3.1-8b-instant", "gpt-4.1"][chosen]]);
      const tried = Math.min(chosen + 1, 2);
      expect(choicesOf(answer)[0]?.["evaluated"]).toHaveLength(tried);
    });
  });

  example("Canary", ({ ask, answers }) => {
    test("one in twenty draws is the canary's", async () => {
      answers({ openai: [chatReply("ok")] });
      await until("a canary", async () => {
        const answer = await ask({}, DEBUG);
        const [choice] = choicesOf(answer);
        expect(choice?.["weights"]).toEqual([95, 5]);
        const chosen = Number(choice?.["draw"]) * 100 < 95 ? 0 : 1;
        expect([choice?.["chosen"], answer.headers[USED]]).toEqual([chosen, `config.targets[${chosen}]`]);
        return chosen === 1;
      });
      expect(modelsSent().at(-1)).toBe("gpt-5-mini");
      expect(new Set(modelsSent().slice(0, -1))).toEqual(modelsSent().length === 1 ? new Set() : new Set(["gpt-4.1"]));
    });
  });

  example("Load balancing over fallbacks, with circuit breakers", ({ id, ask, answers }) => {
    test("from the first to the second, and then past the first", async () => {
      answers({ openai: [errorReply(503, "broken")], anthropic: [claude("ok")], groq: [chatReply("ok")] });
      const used = new Set<unknown>();
      const failures = (): number => received().filter((slug) => slug === "openai").length;
      const [first] = choicesOf(await ask({}, DEBUG));
      expect(first?.["weights"]).toEqual([7, 3]);
      await until("the breaker to open", async () => {
        used.add((await ask()).headers[USED]);
        const breakers = await send(stage.gateway, `/v1/circuit-breakers?config=${id()}`, { headers: { "x-gateway-api-key": READER.key } });
        return (breakers.json()["data"] as JsonObject[]).some(
          ({ option_path, state }) => option_path === "config.targets[0].targets[0]" && state === "open",
        );
      });
      const before = failures();
      expect(before).toBeGreaterThanOrEqual(3);
      await until("both ways to be taken", async () => {
        used.add((await ask()).headers[USED]);
        return used.size === 2;
      });
      for (let index = 0; index < 10; index++) expect((await ask()).status).toBe(200);
      expect(used).toEqual(new Set(["config.targets[0].targets[1]", "config.targets[1]"]));
      expect(failures()).toBe(before);
    });

    test("when every one is left out, all are used", async () => {
      const broken = [errorReply(503, "broken")];
      answers({ openai: broken, anthropic: broken, groq: broken });
      const all = ["openai", "anthropic", "groq"];
      await until("all to be asked although all failed three times", async () => {
        await ask();
        return all.every((slug) => received().filter((name) => name === slug).length > 5);
      });
    });
  });

  example("The fastest target", ({ ask, answers }) => {
    test("requests keep away from the slow one once it is known", async () => {
      answers({ groq: [late(200)], cerebras: [chatReply("ok")] });
      await until("ten in a row to go to the fast one", async () => {
        for (let index = 0; index < 10; index++) if ((await ask()).headers[USED] !== "config.targets[1]") return false;
        return true;
      });
      expect(new Set(received())).toEqual(new Set(["groq", "cerebras"]));
    });
  });

  example("Cache and guardrails", ({ ask, answers }) => {
    const said = (content: string) => ({ messages: [{ role: "user", content }] });

    const PUBLIC = metadata({ audience: "public" });
    const card = chatReply("It is 4111 1111 1111 1111.");

    test("a prompt with the words does not leave", async () => {
      const answer = await ask(said("What is Project Falcon?"), PUBLIC);
      expect(answer.status, answer.text).toBe(446);
      expect(received()).toEqual([]);
    });

    test("an answer with a card number says so, and is not stored", async () => {
      answers({ openai: [card] });
      for (let index = 0; index < 2; index++) {
        const answer = await ask(said("Which card?"), PUBLIC);
        expect([answer.status, answer.headers[CACHE]]).toEqual([246, "DISABLED"]);
        expect(answer.json()["hook_results"]).toMatchObject({ after_request_hooks: [{ verdict: false }] });
      }
      expect(received()).toHaveLength(2);
    });

    test("for others the same question is answered from the cache, and the log says what the answer holds", async () => {
      answers({ openai: [card] });
      const first = await ask(said("Which card?"));
      expect([first.status, first.headers[CACHE]]).toEqual([200, "MISS"]);
      await until("a hit", async () => (await ask(said("Which card?"))).headers[CACHE] === "HIT");
      const [record] = await logsOf(stage.gateway, READER.key, String(first.headers["x-gateway-trace-id"]), 1);
      expect(record?.["hook_results"]).toMatchObject({ after_request_hooks: [{ verdict: false, async: true }] });
    });
  });

  example("Changed parameters and forwarded headers", ({ id, ask, answers }) => {
    const body = {
      model: "other",
      temperature: 1,
      user: "ann",
      metadata: { internal: "x", team: "web" },
      messages: [{ role: "user", name: "ann", content: "Hello" }],
    };
    const shaped = {
      model: "gpt-4.1-mini",
      temperature: 1,
      max_tokens: 1024,
      store: false,
      metadata: { team: "web" },
      messages: [{ role: "user", content: "Hello" }],
    };

    test("what the provider gets", async () => {
      answers({ openai: [chatReply("ok")] });
      expect((await ask(body, { "x-request-source": "web", "x-other": "no" })).status).toBe(200);
      expect(sent(0)).toEqual(shaped);
      expect(stage.upstream.requests[0]?.headers).toMatchObject({ "x-request-source": "web", authorization: "Bearer sk-openai" });
      expect(stage.upstream.requests[0]?.headers["x-other"]).toBeUndefined();
      await ask({ store: true });
      expect(sent(1)).toMatchObject({ ...QUESTION, model: "gpt-4.1-mini", temperature: 0.2, store: false });
    });

    test("and explain says it", async () => {
      const headers = { "x-gateway-api-key": READER.key, "x-gateway-config": id() };
      const answer = await send(stage.gateway, "/v1/explain", { headers, body });
      expect(answer.status, answer.text).toBe(200);
      expect((answer.json()["targets"] as JsonObject[])[0]?.["request"]).toMatchObject({ body: shaped });
      expect(received()).toEqual([]);
    });
  });

  example("The client's choice first", ({ ask, answers }) => {
    test.each<[what: string, body: object, headers: Record<string, string>]>([
      ["a header", { model: "m" }, { "x-gateway-provider": "@groq" }],
      ["a model", { model: "@groq/m" }, {}],
    ])("the provider of %s, and then the one that is always there", async (_, body, headers) => {
      answers({ groq: [chatReply("chosen"), errorReply(503, "busy")], anthropic: [claude("always")] });
      const both = [await ask(body, headers), await ask(body, headers)];
      expect(both.map((answer) => answer.headers[PROVIDER])).toEqual(["groq", "anthropic"]);
      expect(modelsSent()).toEqual(["m", "m", "claude-haiku-4-5"]);
    });
  });

  covered.push(STREAMS);
  test("the times that they print, waited for together", async () => {
    const { pieces } = chatStreamReply(["half"]);
    const replies: Readonly<Record<string, Replies>> = {
      unanswered: { openai: [hangReply()], anthropic: [claude("second")] },
      "without content": { openai: [stuck(pieces.slice(0, 1))], groq: [chatStreamReply(["second"])] },
      "content and no more": { openai: [stuck(pieces.slice(0, 2))], groq: [chatStreamReply(["never"])] },
    };
    const isAbout = (request: ReceivedRequest, what: string): boolean => String(request.body).includes(`"${what}"`);
    stage.upstream.always((request) => {
      const what = Object.keys(replies).find((one) => isAbout(request, one)) ?? "";
      return answersOf(replies[what] ?? {})(request);
    });
    const startedAt = Date.now();
    async function answerOf(title: string, what: string, body: object): Promise<Answer & { ms: number; tried: string[] }> {
      const answer = await asking(title)({ ...body, messages: [{ role: "user", content: what }] });
      const tried = stage.upstream.requests.filter((request) => isAbout(request, what)).map(providerOf);
      return { ...answer, ms: Date.now() - startedAt, tried };
    }
    const [unanswered, begun, broken] = await Promise.all([
      answerOf("Fallback with retries and a timeout", "unanswered", {}),
      answerOf(STREAMS, "without content", { stream: true }),
      answerOf(STREAMS, "content and no more", { stream: true }),
    ]);

    // A 408 after 5 s is no reason to try again.
    expect([unanswered.status, unanswered.headers[USED]]).toEqual([200, "config.targets[1]"]);
    expect(unanswered.tried).toEqual(["openai", "anthropic"]);
    expect(unanswered.ms).toBeGreaterThanOrEqual(4_900);

    expect([begun.headers[USED], begun.tried]).toEqual(["config.targets[1]", ["openai", "groq"]]);
    expect(readStream(begun.text)).toMatchObject({ content: "second", done: true, error: null });
    expect(begun.ms).toBeGreaterThanOrEqual(2_900);

    expect(readStream(broken.text)).toMatchObject({ content: "half", done: false, error: { code: "upstream_idle" } });
    expect(broken.tried).toEqual(["openai"]);
    expect(broken.ms).toBeGreaterThanOrEqual(4_900);
  });

  test("each of the ten is tested", () => {
    expect(examples).toHaveLength(10);
    expect(covered.toSorted()).toEqual(examples.map(({ title }) => title).toSorted());
  });
});
