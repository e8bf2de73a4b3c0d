import type { JsonObject } from "@unigate/core";
import { describe, expect, test } from "vitest";
import type { BuildInput } from "../../define.ts";
import { buildRequest } from "./build.ts";
import type { OpenAiChatOptions } from "./options.ts";

function input(text: string, more: Partial<BuildInput> = {}): BuildInput {
  const json = JSON.parse(text) as JsonObject;
  return {
    body: Buffer.from(text),
    json,
    model: String(json["model"]),
    stream: json["stream"] === true,
    clientUsage: false,
    strict: true,
    settings: {},
    headers: {},
    created: 1_700_000_000,
    ...more,
  };
}

function built(text: string, options: OpenAiChatOptions = {}, more: Partial<BuildInput> = {}): JsonObject {
  return JSON.parse(String(buildRequest(input(text, more), options).body)) as JsonObject;
}

test("the client's own buffer goes upstream when nothing changes, unknown fields and odd spacing included", () => {
  const given = input('{ "model":"m","x_unknown" : {"a":[1,2]}, "messages":[]}');
  const request = buildRequest(given, { developerAsSystem: true, rename: { seed: "random_seed" }, drop: ["user"] });
  expect(request.body).toBe(given.body);
  expect(request).toMatchObject({ method: "POST", path: "/chat/completions", headers: { "content-type": "application/json" } });
});

test("the parsed body is never changed", () => {
  const given = input('{"model":"@a/m","seed":1,"user":"u","stream":true,"messages":[{"role":"developer","content":"x"}]}', { model: "m" });
  const before = structuredClone(given.json);
  buildRequest(given, { developerAsSystem: true, rename: { seed: "random_seed" }, drop: ["user"] });
  expect(given.json).toEqual(before);
});

describe("usage of streams", () => {
  test("is asked for by a splice after the first brace", () => {
    const given = input(' {"model":"m","stream":true}');
    expect(String(buildRequest(given, {}).body)).toBe(' {"stream_options":{"include_usage":true},"model":"m","stream":true}');
  });

  test.each<[string, string, OpenAiChatOptions, unknown]>([
    [
      "a client's own options are kept",
      '{"model":"m","stream":true,"stream_options":{"include_obfuscation":false}}',
      {},
      { include_obfuscation: false, include_usage: true },
    ],
    ["false becomes true", '{"model":"m","stream":true,"stream_options":{"include_usage":false}}', {}, { include_usage: true }],
    ["null becomes the option", '{"model":"m","stream":true,"stream_options":null}', {}, { include_usage: true }],
    ["not for a unary call", '{"model":"m"}', {}, undefined],
    ["not for a vendor that always sends it", '{"model":"m","stream":true}', { streamUsage: "always" }, undefined],
    ["not for a vendor that never does", '{"model":"m","stream":true}', { streamUsage: "never" }, undefined],
  ])("%s", (_, text, options, expected) => {
    expect(built(text, options)["stream_options"]).toEqual(expected);
  });

  test("nothing is written anew for a client that asked itself", () => {
    const given = input('{"model":"m","stream":true,"stream_options":{"include_usage":true}}');
    expect(buildRequest(given, {}).body).toBe(given.body);
  });
});

test.each<[string, string, OpenAiChatOptions, Partial<BuildInput>, JsonObject]>([
  ["model", '{"model":"@a/m"}', {}, { model: "m" }, { model: "m" }],
  ["stream switched on", '{"model":"m"}', { streamUsage: "always" }, { stream: true }, { model: "m", stream: true }],
  ["stream switched off", '{"model":"m","stream":true,"stream_options":{}}', {}, { stream: false }, { model: "m", stream: false }],
  ["rename", '{"model":"m","seed":1}', { rename: { seed: "random_seed" } }, {}, { model: "m", random_seed: 1 }],
  [
    "rename, vendor's name given",
    '{"model":"m","seed":1,"random_seed":2}',
    { rename: { seed: "random_seed" } },
    {},
    { model: "m", random_seed: 2 },
  ],
  ["drop", '{"model":"m","user":"u"}', { drop: ["user"] }, {}, { model: "m" }],
  ["tool choice", '{"model":"m","tool_choice":"required"}', { toolChoice: { required: "any" } }, {}, { model: "m", tool_choice: "any" }],
  [
    "developer",
    '{"model":"m","messages":[{"role":"developer","content":"x","name":"n"},{"role":"user","content":"y"}]}',
    { developerAsSystem: true },
    {},
    {
      model: "m",
      messages: [
        { role: "system", content: "x", name: "n" },
        { role: "user", content: "y" },
      ],
    },
  ],
])("%s", (_, text, options, more, expected) => {
  expect(built(text, options, more)).toEqual(expected);
});

test("settings and client headers become request headers only when they are named", () => {
  const options: OpenAiChatOptions = { settingHeaders: { provider_project: "openai-project" }, passHeaders: ["x-title"] };
  const more = { settings: { provider_project: "p", other: "o" }, headers: { "x-title": "t", "x-other": "o" } };
  expect(buildRequest(input('{"model":"m"}', more), options).headers).toEqual({
    "content-type": "application/json",
    accept: "application/json",
    "openai-project": "p",
    "x-title": "t",
  });
});
