import { bufferOfJson } from "@unigate/core";
import { describe, expect, test } from "vitest";
import { rewriteBody, type ShapedBody } from "./shape-body.ts";

const shapedOf = (json: Record<string, unknown>): ShapedBody => ({
  body: bufferOfJson(json),
  json,
  model: String(json["model"]),
  stream: json["stream"] === true,
});

describe("a body that a check has rewritten", () => {
  test("is what is read from then on, its model too", () => {
    const body = Buffer.from('{"model":"n","messages":[]}');
    expect(rewriteBody(shapedOf({ model: "m" }), body)).toEqual({ body, json: { model: "n", messages: [] }, model: "n", stream: false });
  });

  test.each([
    [
      { model: "m", stream: true },
      { model: "m", stream: false },
      { model: "m", stream: true },
    ],
    [{ model: "m", stream: true }, { model: "m" }, { model: "m", stream: true }],
    [{ model: "m" }, { model: "m", stream: true }, { model: "m", stream: false }],
    [{ model: "m" }, { model: "m", stream: false }, { model: "m", stream: false }],
  ])("of %j to %j is %j: a stream stays one, and nothing becomes one", (before, rewritten, after) => {
    const shaped = rewriteBody(shapedOf(before), Buffer.from(JSON.stringify(rewritten)));
    expect([JSON.parse(shaped.body.toString()), shaped.json, shaped.stream]).toEqual([after, after, "stream" in before && before.stream]);
  });

  test("without a model names none", () => {
    expect(rewriteBody(shapedOf({ model: "m" }), Buffer.from("{}")).model).toBe("");
  });

  test("that is no object is a fault", () => {
    expect(() => rewriteBody(shapedOf({ model: "m" }), Buffer.from("[1]"))).toThrow("no JSON object");
  });
});
