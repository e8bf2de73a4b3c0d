import type { JsonObject } from "@unigate/core";
import { expect } from "vitest";
import type { Answer } from "./http.ts";

/** What no answer may show: stacks, source files, folders of the machine, unfinished texts. */
const INNARDS = /\n\s+at |\bnode:internal|node_modules|\.[jt]s:\d+|\/dist\/|\[object |undefined|\[secret\]/;

/**
 * Proves that an answer is the error envelope of DESIGN section 1 and nothing beside it, and gives its `error`.
 * Answers of a target that was tried name its provider.
 */
export function expectError(answer: Pick<Answer, "status" | "headers" | "text">, status: number, code: string | null): JsonObject {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers["content-type"], answer.text).toBe("application/json");
  expect(answer.text).not.toMatch(INNARDS);
  const body = JSON.parse(answer.text) as JsonObject;
  expect(Object.keys(body).filter((name) => name !== "provider")).toEqual(["error"]);
  const error = body["error"] as JsonObject;
  expect(Object.keys(error)).toEqual(["message", "type", "param", "code"]);
  expect(error).toMatchObject({ message: expect.stringMatching(/\S{3}/), type: expect.stringMatching(/^[a-z_]+$/), code });
  return error;
}
