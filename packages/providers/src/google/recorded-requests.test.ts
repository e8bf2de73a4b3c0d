import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isObject } from "@unigate/core";
import { describe, expect, test } from "vitest";
import google from "./index.ts";

// Recorded requests are Google's own. Each is written the way an OpenAI client would say it, built, and compared.

const root = process.env["UNIGATE_FIXTURES"] ?? fileURLToPath(new URL("../../../../../shared/fixtures", import.meta.url));
const present = existsSync(`${root}/gemini`);
if (!present) process.stdout.write(`skipped: no recordings of gemini at ${root}\n`);

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- recordings are read as they are

interface Case {
  readonly name: string;
  readonly path: string;
  readonly body: Json;
}

function casesOf(): Case[] {
  return ["chat", "chat-stream"].flatMap((surface) => {
    const base = `${root}/gemini/${surface}`;
    if (!existsSync(base)) return [];
    const requests = readdirSync(base).map(
      (name) => ({ name, ...JSON.parse(readFileSync(`${base}/${name}/request.json`, "utf8")) }) as Json,
    );
    return requests
      .filter((request) => isObject(request["body"]) && (request["path"] as string).includes("enerateContent"))
      .map((request) => ({ name: request["name"] as string, path: request["path"] as string, body: request["body"] as Json }));
  });
}

const NAMES: [string, string][] = [
  ["maxOutputTokens", "max_tokens"],
  ["temperature", "temperature"],
  ["topP", "top_p"],
  ["topK", "top_k"],
  ["stopSequences", "stop"],
  ["candidateCount", "n"],
];

/** A generateContent body in OpenAI's words; what is Google's alone goes as it is. */
function spokenAsOpenAi(body: Json): Json {
  const { contents, systemInstruction, tools, toolConfig, generationConfig, model: _, ...rest } = body;
  const said: Json = { ...rest, messages: [] };
  for (const part of systemInstruction?.parts ?? []) said["messages"].push({ role: "system", content: part.text });
  for (const content of contents as Json[]) said["messages"].push(...messagesOf(content));
  if (tools !== undefined)
    said["tools"] = (tools as Json[]).flatMap((tool) => (tool["functionDeclarations"] as Json[] | undefined)?.map(functionOf) ?? [tool]);
  const { functionCallingConfig, ...own } = (toolConfig ?? {}) as Json;
  if (functionCallingConfig !== undefined) said["tool_choice"] = choiceOf(functionCallingConfig as Json);
  if (Object.keys(own).length > 0) said["tool_config"] = own;
  const config = { ...generationConfig } as Json;
  for (const [theirs, ours] of NAMES) {
    if (config[theirs] !== undefined) said[ours] = config[theirs];
    delete config[theirs];
  }
  if (config["responseJsonSchema"] !== undefined) {
    said["response_format"] = { type: "json_schema", json_schema: { name: "answer", schema: config["responseJsonSchema"] } };
    delete config["responseJsonSchema"];
    delete config["responseMimeType"];
  }
  if (Object.keys(config).length > 0) said["generation_config"] = config;
  return said;
}

function messagesOf(content: Json): Json[] {
  const parts = content["parts"] as Json[];
  if (content["role"] === "model") {
    const calls = parts.filter((part) => part["functionCall"] !== undefined);
    const tool_calls = calls.map(({ functionCall, thoughtSignature }) => ({
      id: functionCall.id ?? "",
      type: "function",
      function: { name: functionCall.name, arguments: JSON.stringify(functionCall.args) },
      ...(thoughtSignature === undefined ? {} : { extra_content: { google: { thought_signature: thoughtSignature } } }),
    }));
    const text = parts.filter((part) => part["text"] !== undefined).map((part) => ({ type: "text", text: part["text"] }));
    return [{ role: "assistant", content: text.length > 0 ? text : null, ...(tool_calls.length > 0 ? { tool_calls } : {}) }];
  }
  const results = parts.filter((part) => part["functionResponse"] !== undefined).map((part) => part["functionResponse"] as Json);
  const others = parts.filter((part) => part["functionResponse"] === undefined);
  return [
    ...results.map(({ id, name, response, parts: media }) => ({
      role: "tool",
      tool_call_id: id ?? "",
      name,
      content: [{ type: "text", text: JSON.stringify(response) }, ...((media ?? []) as Json[])],
    })),
    ...(others.length > 0 ? [{ role: "user", content: others.map(partOf) }] : []),
  ];
}

function partOf(part: Json): Json {
  if (part["text"] !== undefined) return { type: "text", text: part["text"] };
  const { inlineData, fileData } = part;
  if (inlineData?.mimeType?.startsWith("image/"))
    return { type: "image_url", image_url: { url: `data:${inlineData.mimeType};base64,${inlineData.data}` } };
  if (inlineData?.mimeType === "audio/mpeg") return { type: "input_audio", input_audio: { data: inlineData.data, format: "mp3" } };
  if (fileData?.fileUri !== undefined) return { type: "image_url", image_url: { url: fileData.fileUri } };
  return part;
}

function functionOf(declared: Json): Json {
  const { name, description, ...schemas } = declared;
  const parameters = schemas["parameters"] === undefined ? Object.values(schemas)[0] : lowerTypes(schemas["parameters"]);
  return { type: "function", function: { name, description, parameters } };
}

/** OpenAPI's type names as JSON Schema's. */
function lowerTypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lowerTypes);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "type" && typeof inner === "string" ? inner.toLowerCase() : lowerTypes(inner),
    ]),
  );
}

function choiceOf(config: Json): unknown {
  const names = config["allowedFunctionNames"] as string[] | undefined;
  if (names === undefined) return { AUTO: "auto", ANY: "required", NONE: "none" }[config["mode"] as string];
  const tools = names.map((name) => ({ type: "function", function: { name } }));
  return { type: "allowed_tools", allowed_tools: { mode: "required", tools } };
}

/** What a body means: neighbours of one role together, one spelling, empty configs and defaults left out. */
function meaning(body: Json): Json {
  const { model: _, contents, systemInstruction, generationConfig, tools, ...rest } = body;
  const turns: Json[] = [];
  for (const { role, parts } of contents as Json[]) {
    if (turns.at(-1)?.["role"] === role) turns.at(-1)?.["parts"].push(...(parts as Json[]));
    else turns.push({ role, parts: [...(parts as Json[])] });
  }
  const meant: Json = { ...rest, contents: turns };
  if (systemInstruction !== undefined) meant["systemInstruction"] = systemInstruction.parts;
  const { candidateCount: __, ...config } = (generationConfig ?? {}) as Json;
  if (Object.keys(config).length > 0) meant["generationConfig"] = config;
  if (tools !== undefined)
    meant["tools"] = (tools as Json[]).map((tool) =>
      tool["functionDeclarations"] === undefined ? tool : (tool["functionDeclarations"] as Json[]).map(functionOf),
    );
  return meant;
}

describe.skipIf(!present)("recorded requests of Gemini", () => {
  test.each(casesOf())("$name", ({ body, path }) => {
    const json = spokenAsOpenAi(body);
    const [model = "", verb] = path.slice("/v1beta/models/".length).split(":");
    const stream = verb === "streamGenerateContent";
    const request = google.surfaces.chat?.build({
      json,
      body: Buffer.from(JSON.stringify(json)),
      model,
      stream,
      clientUsage: false,
      strict: true,
      settings: {},
      headers: {},
      created: 1_700_000_000,
    });
    expect(meaning(JSON.parse(String(request?.body)) as Json)).toEqual(meaning(body));
    expect(request?.path).toBe(path.slice("/v1beta".length) + (stream ? "?alt=sse" : ""));
  });
});
