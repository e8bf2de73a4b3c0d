import { describe, expect, test } from "vitest";
import { ERRORS, type ErrorCode, errorBody, GatewayError, toGatewayError, typeOfStatus } from "./errors.ts";

const table = Object.entries(ERRORS) as [ErrorCode, { status: number; type?: string; text: string }][];

describe("the error table", () => {
  test.each(table)("%s", (code, { status, type, text }) => {
    expect(code).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
    expect(Number.isInteger(status) && status >= 400 && status <= 599).toBe(true);
    expect(text).toMatch(/^[A-Zx].*\.$/);
    expect(text).not.toMatch(/%s|undefined|\n/);
    if (type !== undefined) expect(type).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  test("statuses that the texts fix (behaviour 5, DESIGN 8.7)", () => {
    const statusOf = Object.fromEntries(table.map(([code, { status }]) => [code, status]));
    expect(statusOf).toMatchObject({
      endpoint_not_supported: 400,
      prompt_not_supported: 400,
      invalid_key: 401,
      key_expired: 401,
      scope_missing: 403,
      not_available: 404,
      method_not_allowed: 405,
      request_timeout: 408,
      budget_exhausted: 412,
      model_not_allowed: 412,
      body_too_large: 413,
      rate_limited: 429,
      hooks_failed: 446,
      upstream_unreachable: 502,
      upstream_invalid: 502,
      upstream_connect_timeout: 504,
      upstream_timeout: 504,
      overloaded: 503,
    });
    expect(ERRORS.request_timeout.type).toBe("timeout_error");
    expect(ERRORS.hooks_failed.type).toBe("hooks_failed");
  });
});

test.each([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [402, "permission_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [408, "timeout_error"],
  [413, "request_too_large"],
  [422, "invalid_request_error"],
  [429, "rate_limit_error"],
  [500, "api_error"],
  [504, "timeout_error"],
  [529, "api_error"],
])("%i is a %s", (status, type) => {
  expect(typeOfStatus(status)).toBe(type);
});

describe("GatewayError", () => {
  test("takes everything from the table", () => {
    expect(new GatewayError("rate_limited")).toMatchObject({
      code: "rate_limited",
      status: 429,
      type: "api_key_rate_limit_error",
      message: ERRORS.rate_limited.text,
      param: null,
      retryAfterMs: null,
    });
    expect(new GatewayError("upstream_unreachable").type).toBe("api_error");
  });

  test("says more when more is known", () => {
    const cause = new Error("inner");
    const error = new GatewayError("rate_limited", "Slow down.", { param: "model", cause, type: "t", status: 430, retryAfterMs: 5 });
    expect(error).toMatchObject({ message: "Slow down.", param: "model", cause, type: "t", status: 430, retryAfterMs: 5 });
    expect(error).toBeInstanceOf(Error);
  });

  test("a status of its own gives the type when the table has none", () => {
    expect(new GatewayError("upstream_invalid", undefined, { status: 404 }).type).toBe("not_found_error");
  });

  test("has no cause when none is given", () => {
    expect("cause" in new GatewayError("internal")).toBe(false);
  });
});

test.each([new TypeError("hush"), "hush", null, undefined, { hush: 1 }])("%s becomes internal, kept as the cause only", (reason) => {
  const error = toGatewayError(reason);
  expect(error).toMatchObject({ code: "internal", status: 500 });
  expect(error.cause).toBe(reason === undefined ? undefined : reason);
  expect(JSON.stringify(errorBody(error))).not.toContain("hush");
});

test("a GatewayError stays itself", () => {
  const error = new GatewayError("no_target");
  expect(toGatewayError(error)).toBe(error);
});

test("the envelope has exactly four fields", () => {
  expect(errorBody(new GatewayError("invalid_request", "m", { param: "p", cause: "c" }))).toEqual({
    error: { message: "m", type: "invalid_request_error", param: "p", code: "invalid_request" },
  });
});
