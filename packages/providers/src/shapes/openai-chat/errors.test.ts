import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inbandError, readOpenAiError } from "./errors.ts";

function read(status: number, body: unknown): ReturnType<typeof readOpenAiError> {
  return readOpenAiError("acme", status, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
}

describe("readOpenAiError", () => {
  test("an OpenAI-shaped error is kept whole", () => {
    const error = { message: "No such model", type: "invalid_request_error", param: "model", code: "model_not_found", more: 1 };
    expect(read(404, { error })).toEqual({
      status: 404,
      message: "No such model",
      type: "invalid_request_error",
      param: "model",
      code: "model_not_found",
      raw: error,
    });
  });

  test.each<[string, number, unknown, object]>([
    ["type by status", 429, { error: { message: "slow" } }, { message: "slow", type: "rate_limit_error", code: null }],
    ["numeric code", 401, { error: { message: "who?", code: 401 } }, { code: "401", type: "authentication_error" }],
    [
      "text error with code",
      400,
      { code: "invalid-argument", error: "bad key" },
      { message: "acme error: bad key", code: "invalid-argument" },
    ],
    ["text error and a message", 429, { error: "Too Many Requests", message: "rate" }, { message: "acme error: rate" }],
    [
      "object error",
      429,
      { object: "error", message: "Rate limit", type: "rate_limited", code: "1300" },
      { type: "rate_limited", code: "1300" },
    ],
    ["message", 403, { message: "no" }, { message: "acme error: no", type: "permission_error" }],
    ["detail text", 401, { detail: "Unauthorized" }, { message: "acme error: Unauthorized" }],
    [
      "detail list",
      422,
      { detail: [{ loc: ["body", "messages", 0], msg: "field required", type: "missing" }] },
      { message: "acme error: body.messages.0: field required" },
    ],
    ["a list around it", 400, [{ error: { message: "inner", status: "INVALID" } }], { message: "inner", code: "INVALID" }],
    ["JSON text", 500, '"broken"', { message: "acme error: broken" }],
    ["an event", 400, 'event: error\ndata: {"error":{"message":"in a stream"}}\n\n', { message: "in a stream" }],
    ["plain text", 502, "Bad Gateway", { message: "Invalid response received from acme: Bad Gateway", type: "api_error" }],
    ["a page", 504, "<html>Gateway Timeout</html>", { message: "Invalid response received from acme: <html>Gateway Timeout</html>" }],
    ["nothing", 503, "", { message: "Invalid response received from acme: (empty)", status: 503 }],
    ["an empty object", 500, {}, { message: "Invalid response received from acme: {}" }],
    ["no words", 500, { error: {} }, { message: "acme error: {}" }],
  ])("%s", (_, status, body, expected) => {
    expect(read(status, body)).toMatchObject({ status, ...expected });
  });

  test("an unreadable text is cut at 500 characters, whole code points kept", () => {
    const message = read(500, `${"x".repeat(499)}\u{1f600}${"y".repeat(600)}`).message;
    expect(message).toBe(`Invalid response received from acme: ${"x".repeat(499)}`);
  });

  test.each([
    ["Please try again in 1.574s. Visit", 1574],
    ["Please try again in 6m0s.", 360_000],
    ["try again in 120ms", 120],
    ["Please retry after 20 seconds", 20_000],
    ["Please try again later", undefined],
  ])("a wait in the text: %s", (message, ms) => {
    expect(read(429, { error: { message } }).retryAfterMs).toBe(ms);
  });

  test("never throws, whatever the bytes", () => {
    const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
    const json = fc.jsonValue({ maxDepth: 6 }).map((value) => Buffer.from(JSON.stringify(value)));
    const errors = fc
      .record({ error: fc.jsonValue(), message: fc.jsonValue(), detail: fc.jsonValue() }, { requiredKeys: [] })
      .map((value) => Buffer.from(JSON.stringify(value)));
    fc.assert(
      fc.property(fc.oneof(bytes, json, errors), fc.integer({ min: 300, max: 599 }), (body, status) => {
        const error = readOpenAiError("acme", status, body);
        expect(error.status).toBe(status);
        expect(error.message).not.toBe("");
        expect(error.type).not.toBe("");
        expect(() => JSON.stringify(error)).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });

  test("a body nested too deep is unreadable, not a crash", () => {
    const deep = `{"error":{"message":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
    expect(read(500, deep).message).toMatch(/^Invalid response received from acme/);
  });
});

describe("inbandError", () => {
  test.each<[unknown, number | null]>([
    [{ error: { message: "m", type: "overloaded_error" } }, 529],
    [{ error: { message: "m", code: "rate_limit_exceeded" } }, 429],
    [{ error: { message: "m", code: 402 }, choices: [{ index: 0, delta: {} }] }, 402],
    [{ error: { message: "m", status_code: 400, code: "tool_use_failed" } }, 400],
    [{ error: { message: "m", type: "server_error" } }, 500],
    [{ error: "text" }, 502],
    [{ object: "error", message: "m", code: "3505" }, 502],
    [[{ error: { message: "m", code: 503 } }], 503],
    [{ choices: [], error: null }, null],
    [{ id: "x", object: "chat.completion.chunk" }, null],
    ["text", null],
    [null, null],
  ])("%j", (value, status) => {
    expect(inbandError("acme", value)?.status ?? null).toBe(status);
  });
});
