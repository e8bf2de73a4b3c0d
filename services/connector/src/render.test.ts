import { InvokeRequest } from "@unigate/contracts";
import { createEgressGuard, createSender } from "@unigate/http";
import { createSealer } from "@unigate/secrets";
import { afterAll, expect, test } from "vitest";
import { createBaseUrls } from "./base-url.ts";
import type { ConnectorDeps } from "./deps.ts";
import { render } from "./render.ts";

const guard = createEgressGuard({ allow: "" });
const sealer = createSealer(Buffer.alloc(32, 1));
const sender = createSender({ guard });
afterAll(() => sender.close());
const deps: ConnectorDeps = { sender, baseUrls: createBaseUrls(guard), sealer, clock: { now: () => 0 }, maxAnswerBytes: 1_000 };

const SECRET = "sk-a-secret-of-the-provider";
const chat = { model: "gpt-5", messages: [{ role: "user", content: `my key is ${SECRET}` }] };

function rendered(over: Parameters<typeof InvokeRequest.create>[0] = {}, body: unknown = chat) {
  const target = { provider: "openai", strict: true, inlineCredentials: [{ name: "api_key", value: SECRET }], ...over?.target };
  const tenant = { organisationId: "org-a", workspaceId: "ws-a" };
  return render(
    deps,
    InvokeRequest.create({ tenant, surface: "chat", method: "POST", body: Buffer.from(JSON.stringify(body)), ...over, target }),
  );
}

test("the request of the upstream, its credential masked in headers and body", async () => {
  const reply = await rendered();
  expect([reply.method, reply.url, reply.failure]).toEqual(["POST", "https://api.openai.com/v1/chat/completions", undefined]);
  expect(Object.fromEntries(reply.headers.map(({ name, value }) => [name, value]))).toMatchObject({ authorization: "[redacted]" });
  expect(JSON.parse(reply.body.toString("utf8"))).toMatchObject({ model: "gpt-5", messages: [{ content: "my key is [redacted]" }] });
  expect(JSON.stringify({ ...reply, body: reply.body.toString("utf8") })).not.toContain(SECRET);
});

test.each(["short", " sk-pasted-with-space \n"])("a credential such as %j is masked in its header too", async (value) => {
  const reply = await rendered({ target: { inlineCredentials: [{ name: "api_key", value }] } });
  expect(JSON.stringify(reply.headers)).not.toContain(value.trim());
});

test("a sealed credential, in the provider's own header and body", async () => {
  const sealed = sealer.seal({ api_key: SECRET }, "org-a", "provider/claude");
  const target = { provider: "anthropic", slug: "claude", inlineCredentials: [], sealed, sealedFor: "provider/claude" };
  const reply = await rendered({ target }, { ...chat, max_tokens: 9 });
  expect(reply.url).toBe("https://api.anthropic.com/v1/messages");
  expect(reply.headers.find(({ name }) => name === "x-api-key")?.value).toBe("[redacted]");
  expect(JSON.parse(reply.body.toString("utf8"))).toMatchObject({ max_tokens: 9 });
});

test("what could not be sent is said", async () => {
  const host = await rendered({ target: { customHost: "http://169.254.169.254/v1" } });
  expect(host).toMatchObject({ url: "", failure: { code: "invalid_custom_host", status: 400 } });
  const surface = await rendered({ surface: "unheard-of" });
  expect(surface.failure).toMatchObject({ code: "endpoint_not_supported" });
});
