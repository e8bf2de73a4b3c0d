import { describe, expect, test } from "vitest";
import { headerForCheck, mayReachProvider } from "./forwardable-header.ts";

describe("what may reach the vendor of a check", () => {
  test.each([
    ["x-team", "x-team"],
    ["X-Team", "x-team"],
    ["user-agent", "user-agent"],
    ["traceparent", "traceparent"],
    ["idempotency-key", "idempotency-key"],
    ["x-max-tokens", "x-max-tokens"],
    ["X-Gateway-Trace-Id", "x-gateway-trace-id"],
    ["x-gateway-span-id", "x-gateway-span-id"],
    ["x-portkey-trace-id", "x-gateway-trace-id"],
  ])("%s as %s", (name, passed) => {
    expect(headerForCheck(name)).toBe(passed);
  });

  test.each([
    "authorization",
    "Authorization",
    "proxy-authorization",
    "x-amz-security-token",
    "x-auth-token",
    "x-api-key",
    "apikey",
    "ocp-apim-subscription-key",
    "x-client-secret",
    "cookie",
    "set-cookie",
    "host",
    "connection",
    "transfer-encoding",
    "content-length",
    "x-gateway-api-key",
    "x-gateway-config",
    "X-Portkey-Config",
    "x-gateway-metadata",
  ])("never %s", (name) => {
    expect(headerForCheck(name)).toBeNull();
  });
});

test.each([
  ["x-team", true],
  ["authorization", false],
  ["cookie", false],
  ["te", false],
  ["x-gateway-trace-id", false],
  ["x-auth-token", true],
])("%s may reach a provider: %s", (name, may) => {
  expect(mayReachProvider(name)).toBe(may);
});
