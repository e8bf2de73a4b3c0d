import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isObject } from "@unigate/core";
import { describe, expect, test } from "vitest";
import anthropic from "./index.ts";

// Recorded requests are Anthropic's own. Each is written the way an OpenAI client would say it, built, and compared.

const root = process.env["UNIGATE_FIXTURES"] ?? fileURLToPath(new URL("../../../../../shared/fixtures", import.meta.url));
const present = existsSync(`${root}/anthropic`);
if (!present) process.stdout.write(`skipped: no recordings of anthropic at ${root}\n`);

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- recordings are read as they are

interface Case {
  readonly name: string;
  readonly body: Json;
  readonly betas: string | undefined;
}

function casesOf(): Case[] {
  return ["chat", "chat-stream"].flatMap((surface) => {
    const base = `${root}/anthropic/${surface}`;
    if (!existsSync(base)) return [];
    const requests = readdirSync(base).map(
      (name) => ({ name, ...JSON.parse(readFileSync(`${base}/${name}/request.json`, "utf8")) }) as Json,
    );
    return requests
      .filter((request) => isObject(request["body"]))
      .map((request) => ({
        name: request["name"] as string,
        body: request["body"] as Json,
        betas: request["headers"]["anthropic-beta"] as string | undefined,
      }));
  });
}

/** A Messages body in OpenAI's words. */
function spokenAsOpenAi(body: Json): Json {
  const { system, messages, tools, tool_choice, stop_sequences, metadata, ...rest } = body;
  const said: Json = { ...rest, messages: [] };
  if (system !== undefined) said["messages"].push({ role: "system", content: system });
  for (const message of messages as Json[]) said["messages"].push(...messagesOf(message));
  if (tools !== undefined) said["tools"] = (tools as Json[]).map(toolOf);
  if (tool_choice !== undefined) Object.assign(said, choiceOf(tool_choice as Json));
  if (stop_sequences !== undefined) said["stop"] = stop_sequences;
  if (metadata?.user_id !== undefined) said["user"] = metadata.user_id;
  return said;
}

function messagesOf(message: Json): Json[] {
  if (typeof message["content"] === "string") return [message];
  const blocks = message["content"] as Json[];
  if (message["role"] === "assistant") {
    const calls = blocks.filter((block) => block["type"] === "tool_use");
    const tool_calls = calls.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input) } }));
    const kept = blocks.filter((block) => block["type"] !== "tool_use");
    const content = kept.every((block) => block["type"] === "text") ? { content: kept } : { content: null, content_blocks: kept };
    return [{ role: "assistant", ...content, ...(tool_calls.length > 0 ? { tool_calls } : {}) }];
  }
  const results = blocks.filter((block) => block["type"] === "tool_result");
  const others = blocks.filter((block) => block["type"] !== "tool_result");
  return [
    ...results.map(({ tool_use_id, content, is_error, cache_control }) => ({
      role: "tool",
      tool_call_id: tool_use_id,
      content: typeof content === "string" ? content : (content as Json[] | undefined)?.map(partOf),
      ...(is_error === undefined ? {} : { is_error }),
      ...(cache_control === undefined ? {} : { cache_control }),
    })),
    ...(others.length > 0 ? [{ role: "user", content: others.map(partOf) }] : []),
  ];
}

function partOf(block: Json): Json {
  const { type, source, ...rest } = block;
  if (type === "image" && source.type === "base64")
    return { type: "image_url", image_url: { url: `data:${source.media_type};base64,${source.data}` }, ...rest };
  if (type === "image" && source.type === "url") return { type: "image_url", image_url: { url: source.url }, ...rest };
  if (type === "document" && source.type === "text") {
    const { title, ...marks } = rest;
    const data = `data:text/plain;base64,${Buffer.from(source.data as string).toString("base64")}`;
    return { type: "file", file: { filename: title, file_data: data }, ...marks };
  }
  return block;
}

function toolOf(tool: Json): Json {
  const { name, description, input_schema, ...rest } = tool;
  return input_schema === undefined ? tool : { type: "function", function: { name, description, parameters: input_schema }, ...rest };
}

function choiceOf(choice: Json): Json {
  const words: Json = { auto: "auto", any: "required", none: "none" };
  return {
    tool_choice: words[choice["type"]] ?? { type: "function", function: { name: choice["name"] } },
    ...(choice["disable_parallel_tool_use"] === undefined ? {} : { parallel_tool_calls: choice["disable_parallel_tool_use"] === false }),
  };
}

/** What a body means: texts as blocks, defaults that are said aloud left out. */
function meaning(body: Json): Json {
  const { system, messages, stream, tool_choice, ...rest } = body;
  const blocks = (content: unknown) => (typeof content === "string" ? [{ type: "text", text: content }] : content);
  const meant: Json = {
    ...rest,
    messages: (messages as Json[]).map(({ role, content }) => ({
      role,
      content: (blocks(content) as Json[]).map((block) =>
        block["type"] === "tool_result" ? { ...block, content: blocks(block["content"]) } : block,
      ),
    })),
  };
  if (system !== undefined) meant["system"] = blocks(system);
  if (stream === true) meant["stream"] = true;
  if (tool_choice !== undefined) {
    const { disable_parallel_tool_use, ...choice } = tool_choice as Json;
    meant["tool_choice"] = disable_parallel_tool_use === true ? tool_choice : choice;
  }
  return meant;
}

describe.skipIf(!present)("recorded requests of Anthropic", () => {
  test.each(casesOf())("$name", ({ body, betas }) => {
    const json = spokenAsOpenAi(body);
    const request = anthropic.surfaces.chat?.build({
      json,
      body: Buffer.from(JSON.stringify(json)),
      model: body["model"] as string,
      stream: body["stream"] === true,
      clientUsage: false,
      strict: true,
      settings: {},
      created: 1_700_000_000,
      headers: betas === undefined ? {} : { "anthropic-beta": betas },
    });
    expect(meaning(JSON.parse(String(request?.body)) as Json)).toEqual(meaning(body));
    expect(request?.headers["anthropic-beta"]).toBe(betas);
  });
});
