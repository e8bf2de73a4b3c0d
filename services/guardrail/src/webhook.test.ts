import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { findCheck } from "@unigate/checks";
import { CheckRequest } from "@unigate/contracts";
import { backgroundCall, CancelToken, type JsonObject, jsonOf, systemClock } from "@unigate/core";
import { createEgressGuard, createSender, type Sender } from "@unigate/http";
import { createSealer } from "@unigate/secrets";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createPost } from "./post.ts";
import { createGuardrailService } from "./service.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A request that the server has got. */
interface Received {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: JsonObject;
}

let server: Server;
let origin = "";
let handler: Handler = (_request, response) => response.end();
const received: Received[] = [];
const closed: string[] = [];
const senders: Sender[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("close", () => closed.push(request.url ?? ""));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      received.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(body) as JsonObject });
      handler(request, response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  received.length = 0;
  closed.length = 0;
  for (const sender of senders.splice(0)) sender.close();
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const REQUEST = { model: "m", messages: [{ role: "user", content: "hello" }] };
const REPLY = { choices: [{ message: { content: "fine" } }] };

interface Ask {
  readonly allow?: string;
  readonly phase?: "before" | "after";
  readonly hooks?: readonly JsonObject[];
  readonly request?: JsonObject;
  readonly cancel?: CancelToken;
}

interface Said {
  readonly verdict: string;
  readonly results: readonly (JsonObject & { readonly checks: readonly JsonObject[] })[];
  readonly body: unknown;
}

const hook = (path: string, over: JsonObject = {}): JsonObject => ({
  id: "default.webhook",
  parameters: { webhookURL: `${origin}${path}`, ...over },
});

/** The whole service with the real sender; loopback is allowed unless said otherwise. */
async function ask(
  checks: readonly JsonObject[],
  { allow = "127.0.0.0/8", phase = "before", hooks, request = REQUEST, cancel }: Ask = {},
): Promise<Said> {
  const guard = createEgressGuard({ allow });
  const sender = createSender({ guard });
  senders.push(sender);
  const service = createGuardrailService({
    resolver: { resolve: () => Promise.resolve(null) },
    sealer: createSealer(Buffer.alloc(32, 1)),
    findCheck,
    post: createPost(guard, sender),
    clock: systemClock,
  });
  const inline = hooks ?? [{ checks, deny: true }];
  const message = CheckRequest.create({
    tenant: { organisationId: "org-a", workspaceId: "ws" },
    phase,
    hooks: inline.map((json, index) => ({ id: `h${index}`, inlineJson: Buffer.from(JSON.stringify(json)) })),
    body: Buffer.from(JSON.stringify(request)),
    replyBody: phase === "after" ? Buffer.from(JSON.stringify(REPLY)) : Buffer.alloc(0),
    status: phase === "after" ? 200 : 0,
    facts: { surface: "chat", metadata: { team: "web" } },
    provider: "anthropic",
    headers: [
      { name: "x-team", value: "web" },
      { name: "x-other", value: "of another check" },
    ],
  });
  const call = backgroundCall(Date.now() + 30_000);
  const reply = await service.check(message, cancel === undefined ? call : { ...call, cancel });
  return {
    verdict: reply.verdict,
    results: jsonOf(reply.hookResultsJson) as Said["results"],
    body: reply.body.length === 0 ? null : jsonOf(reply.body),
  };
}

const says =
  (answer: unknown, status = 200): Handler =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(typeof answer === "string" ? answer : JSON.stringify(answer));
  };

describe("a webhook over HTTP", () => {
  test("is posted the request, with its own headers and no others, and its verdict counts", async () => {
    handler = says({ verdict: false, data: { reason: "no" } });
    const { verdict, results } = await ask([hook("/check?a=1", { headers: { Authorization: "Bearer s3cret" } })]);
    expect(verdict).toBe("deny");
    expect(results[0]?.checks[0]).toMatchObject({ id: "default.webhook", verdict: false, data: { reason: "no" }, transformed: false });
    expect(JSON.stringify(results)).not.toContain("s3cret");
    expect(received).toHaveLength(1);
    expect(received[0]).toMatchObject({ path: "/check?a=1", body: { request: { json: REQUEST }, metadata: { team: "web" } } });
    expect(Object.keys(received[0]?.headers ?? {}).sort()).toEqual([
      "accept",
      "accept-encoding",
      "authorization",
      "connection",
      "content-length",
      "content-type",
      "host",
    ]);
  });

  test("is told the provider, and the client headers that it names", async () => {
    handler = says({ verdict: true });
    await ask([hook("/", { forwardHeaders: ["X-Team", "x-absent"] })]);
    expect(received[0]?.body["provider"]).toBe("anthropic");
    expect(received[0]?.headers).toMatchObject({ "x-team": "web", "content-type": "application/json" });
    expect(Object.keys(received[0]?.headers ?? {})).not.toContain("x-other");
  });

  test("that names a credential is never sent", async () => {
    const { results } = await ask([hook("/", { forwardHeaders: ["authorization"] })]);
    expect(results[0]?.checks[0]).toMatchObject({
      error: { name: "CheckParameterError", message: expect.stringContaining("forwardHeaders[0]: expected") as unknown },
    });
    expect(received).toEqual([]);
  });

  test("is posted the answer after a request", async () => {
    handler = says({ verdict: true });
    expect((await ask([hook("/")], { phase: "after" })).verdict).toBe("pass");
    expect(received[0]?.body).toMatchObject({ response: { json: REPLY, text: "fine", statusCode: 200 }, eventType: "afterRequestHook" });
  });

  const failures: readonly (readonly [name: string, answer: Handler, message: string])[] = [
    ["500", says({ verdict: false }, 500), "the webhook answered with status 500; expected 200"],
    ["garbage", says("<html>no</html>"), "the webhook's answer is no JSON object"],
    ["nothing", says(""), "the webhook's answer is no JSON object"],
    [
      "a redirect",
      (_request, response) => response.writeHead(302, { location: `${origin}/elsewhere` }).end('{"verdict":false}'),
      "the webhook answered with status 302; expected 200",
    ],
    ["an answer without end", (_request, response) => pour(response, 200), "its answer is too large"],
    ["an error without end", (_request, response) => pour(response, 500), "the webhook answered with status 500; expected 200"],
    ["a broken connection", (request) => request.socket.destroy(), "the connection broke off"],
    [
      "half an answer",
      (request, response) => {
        response.writeHead(200, { "content-length": "100" }).write('{"verdict":false', () => request.socket.destroy());
      },
      "the connection broke off",
    ],
    ["no HTTP", (request) => request.socket.end("SSH-2.0-OpenSSH\r\n\r\n"), "its answer is not HTTP"],
    [
      "compressed",
      (_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(Buffer.from([0x1f, 0x8b, 8, 0])),
      "the webhook's answer is no JSON object",
    ],
  ];

  test.each(failures)("%s is an error, which passes unless failOnError", async (_name, answer, message) => {
    handler = answer;
    const passed = await ask([hook("/")]);
    expect(passed.results[0]?.checks[0]).toMatchObject({
      verdict: false,
      error: { name: "Error", message: expect.stringContaining(message) as unknown },
    });
    expect(passed.verdict).toBe("pass");
    expect((await ask([hook("/", { failOnError: true })])).verdict).toBe("deny");
    expect(received.map(({ path }) => path)).toEqual(["/", "/"]);
  });

  test.each([
    ["one that says nothing", () => {}],
    ["one that says its head only", (_request: IncomingMessage, response: ServerResponse) => response.writeHead(200).flushHeaders()],
    ["one that drips", (_request: IncomingMessage, response: ServerResponse) => drip(response)],
  ] as const)("%s is given up after its timeout, and its connection closed", async (_name, answer) => {
    handler = answer;
    const { verdict, results } = await ask([hook("/slow", { timeout: 100, failOnError: true })]);
    expect(verdict).toBe("deny");
    expect(results[0]?.checks[0]).toMatchObject({ error: { message: "the webhook did not answer within 100 ms" } });
    await expect.poll(() => closed, { interval: 5 }).toEqual(["/slow"]);
  });

  test("is given up when the request is", async () => {
    const cancel = new CancelToken();
    handler = () => cancel.cancel("client_gone");
    const { results } = await ask([hook("/gone", { timeout: 20_000 })], { cancel });
    expect(results[0]?.checks[0]).toMatchObject({ error: { name: "CheckCancelledError" } });
    await expect.poll(() => closed, { interval: 5 }).toEqual(["/gone"]);
  });

  test("slow ones run side by side, and in order where that is said", async () => {
    const order: string[] = [];
    const held: ServerResponse[] = [];
    handler = (request, response) => {
      order.push(request.url ?? "");
      held.push(response);
    };
    const checks = [hook("/a"), hook("/b")];
    const together = ask(checks);
    await expect.poll(() => held.length, { interval: 5 }).toBe(2);
    for (const response of held.splice(0)) response.end('{"verdict":true}');
    await together;
    const ordered = ask([], { hooks: [{ checks, sequential: true }] });
    for (const path of ["/a", "/b"]) {
      await expect.poll(() => held.length, { interval: 5 }).toBe(1);
      expect(order.at(-1)).toBe(path);
      held.shift()?.end('{"verdict":true}');
    }
    expect((await ordered).verdict).toBe("pass");
  });
});

describe("where a webhook may not lead", () => {
  test.each([
    ["loopback", "http://127.0.0.1:1/", "it is a private address"],
    ["loopback by name", "http://localhost:1/", "its host is a private name"],
    ["a private network", "http://10.0.0.1/", "it is a private address"],
    ["cloud metadata", "http://169.254.169.254/latest/meta-data", "cloud metadata service"],
    ["a number that means loopback", "http://2130706433/", "not written plainly"],
    ["user and password", "http://a:b@example.com/", "it contains @"],
    ["IPv6 loopback", "http://[::1]/", "it is a private address"],
  ])("%s", async (_name, webhookURL, message) => {
    handler = says({ verdict: true });
    const { results } = await ask([{ id: "default.webhook", parameters: { webhookURL } }], { allow: "" });
    expect(results[0]?.checks[0]).toMatchObject({ verdict: false, error: { message: expect.stringContaining(message) as unknown } });
    expect(received).toEqual([]);
  });

  test("a name that resolves to where it may not, and no address is told", async () => {
    const resolve = () => Promise.resolve([{ address: "10.9.8.7", family: 4 }]);
    const guard = createEgressGuard({ allow: "", resolve });
    const sender = createSender({ guard });
    senders.push(sender);
    const request = { url: "http://hooks.example.com/", headers: {}, body: Buffer.from("{}"), timeoutMs: 5_000, maxAnswerBytes: 1_000 };
    const answer = await createPost(guard, sender)(request, backgroundCall());
    expect(answer).toMatchObject({ kind: "failed", code: "refused" });
    expect(JSON.stringify(answer)).not.toContain("10.9.8.7");
  });

  test("a closed port is unreachable", async () => {
    const { results } = await ask([{ id: "default.webhook", parameters: { webhookURL: "http://127.0.0.1:1/" } }]);
    expect(results[0]?.checks[0]).toMatchObject({ error: { message: "the webhook could not be asked: it cannot be reached" } });
  });
});

describe("a webhook that rewrites", () => {
  /** Puts a letter before the text, so that order and repetition are seen. */
  const prefixing: Handler = (request, response, body) => {
    const { request: asked } = JSON.parse(body) as { request: { json: typeof REQUEST; text: string } };
    const messages = [{ role: "user", content: `${request.url?.slice(1) ?? ""}${asked.text}` }];
    response.end(JSON.stringify({ verdict: true, transformedData: { request: { json: { ...asked.json, messages } } } }));
  };
  const bodyOf = (content: string) => ({ model: "m", messages: [{ role: "user", content }] });
  const flags = ({ results }: Said) => results.map(({ transformed, checks }) => [transformed, checks.map((check) => check["transformed"])]);

  test("gives the request a new body", async () => {
    handler = prefixing;
    const said = await ask([hook("/a")]);
    expect(said.body).toEqual(bodyOf("ahello"));
    expect(flags(said)).toEqual([[true, [true]]]);
  });

  test("in order each sees what came before, and so do other checks", async () => {
    handler = prefixing;
    const word = { id: "default.contains", parameters: { words: ["bahello"], operator: "any" } };
    const said = await ask([], { hooks: [{ checks: [hook("/a"), hook("/b"), word], sequential: true, deny: true }] });
    expect([said.verdict, said.body]).toEqual(["pass", bodyOf("bahello")]);
    expect(flags(said)).toEqual([[true, [true, true, false]]]);
    expect(received.map(({ body }) => (body["request"] as JsonObject)["isTransformed"])).toEqual([false, true]);
  });

  test("side by side the last one stays, and it is told which", async () => {
    handler = prefixing;
    const together = await ask([hook("/a"), hook("/b")]);
    expect(together.body).toEqual(bodyOf("bhello"));
    expect(flags(together)).toEqual([[true, [false, true]]]);
    const hooks = await ask([], { hooks: [{ checks: [hook("/a")] }, { checks: [hook("/b")] }] });
    expect(hooks.body).toEqual(bodyOf("bhello"));
    expect(flags(hooks)).toEqual([
      [false, [false]],
      [true, [true]],
    ]);
  });

  test("changes nothing beside the request", async () => {
    handler = prefixing;
    const said = await ask([], { hooks: [{ checks: [hook("/a")], async: true }] });
    expect(said.body).toBeNull();
    expect(flags(said)).toEqual([[false, [false]]]);
  });

  test("may give a large body back", async () => {
    handler = prefixing;
    const long = "x".repeat(2_000_000);
    const said = await ask([hook("/a")], { request: bodyOf(long) });
    expect(said.body).toEqual(bodyOf(`a${long}`));
  });

  test("gives the answer a new body", async () => {
    const json = { choices: [{ message: { content: "[gone]" } }] };
    handler = says({ verdict: true, transformedData: { response: { json } } });
    expect((await ask([hook("/")], { phase: "after" })).body).toEqual(json);
  });
});

/** Writes for as long as anybody reads. */
function pour(response: ServerResponse, status: number): void {
  response.writeHead(status);
  const chunk = Buffer.alloc(64 * 1_024, 0x20);
  const write = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on("drain", write);
  write();
}

/** Writes a space now and then. */
function drip(response: ServerResponse): void {
  response.writeHead(200);
  const timer = setInterval(() => response.write(" "), 10);
  response.on("close", () => clearInterval(timer));
}
