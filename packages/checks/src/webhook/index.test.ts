import { backgroundCall, isObject, jsonOf, Secret } from "@unigate/core";
import { describe, expect, test } from "vitest";
import { checkInput } from "../check-input.fixture.ts";
import {
  type CheckInput,
  CheckParameterError,
  type CheckVerdict,
  type Outside,
  type PostAnswer,
  type PostFailure,
  type PostRequest,
} from "../define.ts";
import webhook from "./index.ts";

const URL_TEXT = "https://hooks.example.com/check?a=1";

const BEFORE = checkInput({
  text: "hello",
  request: { model: "m", messages: [{ role: "user", content: "hello" }] },
  metadata: { team: "web" },
  model: "m",
  stream: true,
});
const AFTER: CheckInput = {
  ...BEFORE,
  phase: "after",
  text: "fine",
  reply: { choices: [{ message: { content: "fine" } }] },
  status: 200,
  rewritten: true,
};

/** The world as one answer, and what was asked of it. */
function answering(answer: PostAnswer | PostFailure): { outside: Outside; asked: PostRequest[] } {
  const asked: PostRequest[] = [];
  const post: Outside["post"] = (request) => {
    asked.push(request);
    return Promise.resolve(answer);
  };
  return { outside: { call: backgroundCall(), post }, asked };
}

function answer(body: unknown, status = 200): PostAnswer {
  return { kind: "answer", status, body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)) };
}

async function run(input: CheckInput, reply: PostAnswer | PostFailure, over: object = {}): Promise<CheckVerdict> {
  return webhook.prepare({ webhookURL: URL_TEXT, ...over })(input, answering(reply).outside);
}

async function sent(input: CheckInput, over: object = {}): Promise<PostRequest> {
  const { outside, asked } = answering(answer({ verdict: true }));
  await webhook.prepare({ webhookURL: URL_TEXT, ...over })(input, outside);
  if (asked[0] === undefined) throw new Error("nothing was sent");
  return asked[0];
}

describe("what a webhook is sent", () => {
  test("before a request", async () => {
    const request = await sent(BEFORE);
    expect(request).toMatchObject({ url: URL_TEXT, timeoutMs: 3_000, headers: { "content-type": "application/json" } });
    expect(JSON.parse(request.body.toString())).toEqual({
      request: { json: BEFORE.request, text: "hello", isStreamingRequest: true, isTransformed: false },
      response: { json: {}, text: "", statusCode: null, isTransformed: false },
      provider: "openai",
      requestType: "chatComplete",
      metadata: { team: "web" },
      eventType: "beforeRequestHook",
    });
    expect(request.maxAnswerBytes).toBe(request.body.length + 256 * 1_024);
  });

  test("after a request", async () => {
    expect(jsonOf((await sent(AFTER)).body)).toMatchObject({
      request: { text: "hello", isTransformed: false },
      response: { json: AFTER.reply, text: "fine", statusCode: 200, isTransformed: true },
      eventType: "afterRequestHook",
    });
  });

  test.each([
    ["completions", "complete"],
    ["embeddings", "embed"],
    ["messages", "messages"],
    ["responses", "createModelResponse"],
    ["other", "other"],
  ])("on %s the request type is %s", async (surface, requestType) => {
    expect(jsonOf((await sent({ ...BEFORE, surface })).body)).toMatchObject({ requestType });
  });

  test.each([
    ["an object", { "X-Token": "s3cret" }],
    ["JSON as text", '{"X-Token":"s3cret"}'],
    ["a sealed object", new Secret('{"X-Token":"s3cret"}')],
    ["a sealed text", new Secret(JSON.stringify('{"X-Token":"s3cret"}'))],
  ])("headers come from %s", async (_name, headers) => {
    expect((await sent(BEFORE, { headers })).headers).toEqual({
      "content-type": "application/json",
      accept: "application/json",
      "x-token": "s3cret",
    });
  });
});

describe("client headers that a webhook may see", () => {
  const headers = { "x-team": "web", "x-token-count": "5", accept: "text/html" };

  test("are those it names, and its own hold over them", async () => {
    const forwardHeaders = ["X-Team", "accept", "x-absent"];
    expect((await sent({ ...BEFORE, headers }, { forwardHeaders })).headers).toEqual({
      "x-team": "web",
      "content-type": "application/json",
      accept: "application/json",
    });
    expect((await sent({ ...BEFORE, headers }, { forwardHeaders, headers: { "x-team": "mine" } })).headers["x-team"]).toBe("mine");
  });

  test("are none when it names none", async () => {
    expect(Object.keys((await sent({ ...BEFORE, headers })).headers)).toEqual(["content-type", "accept"]);
  });
});

describe("what a webhook may answer", () => {
  test.each([
    [{ verdict: true }, { verdict: true, data: null }],
    [
      { verdict: false, data: { reason: "no" } },
      { verdict: false, data: { reason: "no" } },
    ],
    [
      { verdict: true, data: "a text" },
      { verdict: true, data: "a text" },
    ],
    [
      { verdict: true, data: null, transformedData: null },
      { verdict: true, data: null },
    ],
    [
      { verdict: true, transformedData: { request: { json: null }, response: { json: null } } },
      { verdict: true, data: null },
    ],
    [
      { verdict: true, transformedData: { request: { json: { a: 1 } } } },
      { verdict: true, data: null, rewritten: { a: 1 } },
    ],
    [
      { verdict: true, transformedData: { response: { json: { a: 1 } } } },
      { verdict: true, data: null },
    ],
  ])("%j", async (body, verdict) => {
    expect(await run(BEFORE, answer(body))).toEqual(verdict);
  });

  test("after a request it may rewrite the answer, and the answer only", async () => {
    const transformedData = { request: { json: { a: 1 } }, response: { json: { b: 2 } } };
    expect(await run(AFTER, answer({ verdict: true, transformedData }))).toEqual({ verdict: true, data: null, rewritten: { b: 2 } });
  });

  test("201 will do, and data that is too long is left out", async () => {
    expect((await run(BEFORE, answer({ verdict: true }, 201))).verdict).toBe(true);
    const { data } = await run(BEFORE, answer({ verdict: true, data: { long: "x".repeat(70_000) } }));
    expect(isObject(data) ? data["explanation"] : null).toBe("The webhook's data is too long to be shown.");
  });

  test.each([
    ["not json", "no JSON object"],
    ["", "no JSON object"],
    ["[true]", "no JSON object"],
    ["true", "no JSON object"],
    ["{}", "has no verdict"],
    ['{"verdict":"true"}', "has no verdict"],
    ['{"verdict":1}', "has no verdict"],
    ['{"verdict":true,"transformedData":{"request":{"json":[1]}}}', "transformedData.request.json is no JSON object"],
    ['{"verdict":true,"transformedData":{"request":"x"}}', "transformedData.request.json is no JSON object"],
    ['{"verdict":true,"transformedData":5}', "transformedData.request.json is no JSON object"],
    [`{"verdict":true,"data":${"[".repeat(500)}${"]".repeat(500)}}`, "more than 200 levels"],
  ])("%s is an error", async (body, message) => {
    await expect(run(BEFORE, answer(body))).rejects.toThrow(message);
  });

  test.each([301, 302, 307, 400, 401, 500, 503])("status %d is an error, whatever stands in the body", async (status) => {
    await expect(run(BEFORE, answer({ verdict: true }, status))).rejects.toThrow(`status ${status}; expected 200`);
  });

  test("no answer is an error that says why", async () => {
    const late: PostFailure = { kind: "failed", code: "timeout", reason: "it took too long" };
    await expect(run(BEFORE, late, { timeout: 50 })).rejects.toThrow("the webhook did not answer within 50 ms");
    const refused: PostFailure = { kind: "failed", code: "refused", reason: "the address is refused" };
    await expect(run(BEFORE, refused)).rejects.toThrow("the webhook could not be asked: the address is refused");
  });
});

describe("parameters that cannot be used are refused by name", () => {
  test.each([
    [{ webhookURL: undefined }, "webhookURL"],
    [{ webhookURL: 5 }, "webhookURL"],
    [{ webhookURL: "" }, "webhookURL"],
    [{ webhookURL: "/path" }, "webhookURL"],
    [{ webhookURL: "ftp://example.com" }, "webhookURL"],
    [{ webhookURL: "file:///etc/passwd" }, "webhookURL"],
    [{ webhookURL: "http://" }, "webhookURL"],
    [{ webhookURL: `https://example.com/${"a".repeat(2_048)}` }, "webhookURL"],
    [{ timeout: 0 }, "timeout"],
    [{ timeout: "3000" }, "timeout"],
    [{ timeout: 25_001 }, "timeout"],
    [{ timeout: 1.5 }, "timeout"],
    [{ headers: "nonsense" }, "headers"],
    [{ headers: ["a"] }, "headers"],
    [{ headers: 5 }, "headers"],
    [{ headers: { "a b": "c" } }, "headers.a b"],
    [{ headers: { "": "c" } }, "headers."],
    [{ headers: { a: 5 } }, "headers.a"],
    [{ headers: { a: "b\r\nc: d" } }, "headers.a"],
    [{ headers: { a: "\u0000" } }, "headers.a"],
    [{ headers: { a: "€" } }, "headers.a"],
    [{ headers: { a: "x".repeat(8_193) } }, "headers.a"],
    [{ headers: { Host: "internal" } }, "headers.Host"],
    [{ headers: { "Content-Length": "1" } }, "headers.Content-Length"],
    [{ headers: { "transfer-encoding": "chunked" } }, "headers.transfer-encoding"],
    [{ headers: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`h${index}`, "v"])) }, "headers"],
    [{ headers: new Secret("nonsense") }, "headers"],
    [{ forwardHeaders: ["authorization"] }, "forwardHeaders[0]"],
  ])("%j", (over, parameter) => {
    const prepare = () => webhook.prepare({ webhookURL: URL_TEXT, ...over });
    expect(prepare).toThrow(CheckParameterError);
    expect(prepare).toThrow(`${parameter}: expected `);
  });

  test("never with the value of a header", () => {
    for (const headers of [{ authorization: "s3cret\n" }, new Secret('{"host":"s3cret"}'), '{"a":"s3cret']) {
      let said = "";
      try {
        webhook.prepare({ webhookURL: URL_TEXT, headers });
      } catch (error) {
        said = String(error);
      }
      expect(said).toContain("expected");
      expect(said).not.toContain("s3cret");
    }
  });
});
