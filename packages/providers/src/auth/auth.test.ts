import { GatewayError, Secret } from "@unigate/core";
import { expect, test } from "vitest";
import type { Auth, UpstreamRequest } from "../define.ts";
import { bearer, headerKey, none } from "./index.ts";

async function headersWith(auth: Auth, credentials: Record<string, string>): Promise<Record<string, string>> {
  const request: UpstreamRequest = { method: "POST", path: "/x", headers: {}, body: null };
  const secrets = Object.fromEntries(Object.entries(credentials).map(([name, text]) => [name, new Secret(text)]));
  await auth.apply(request, secrets, {});
  return request.headers;
}

test.each<[string, Auth, Record<string, string>, Record<string, string>]>([
  ["bearer", bearer(), { api_key: "k" }, { authorization: "Bearer k" }],
  ["bearer of another field", bearer("token"), { token: "t", api_key: "k" }, { authorization: "Bearer t" }],
  ["bearer without a credential", bearer(), {}, {}],
  ["a pasted line break is removed", bearer(), { api_key: " k\n" }, { authorization: "Bearer k" }],
  ["header key", headerKey("x-api-key"), { api_key: "k" }, { "x-api-key": "k" }],
  ["none", none(), { api_key: "k" }, {}],
])("%s", async (_, auth, credentials, headers) => {
  expect(await headersWith(auth, credentials)).toEqual(headers);
});

test("a credential that no header may carry is refused without being named", async () => {
  const failure = await headersWith(bearer(), { api_key: "secret\r\nx-evil: 1" }).catch((reason: unknown) => reason);
  expect(failure).toBeInstanceOf(GatewayError);
  expect(failure).toMatchObject({ code: "invalid_header", message: expect.not.stringContaining("secret") as unknown });
});
