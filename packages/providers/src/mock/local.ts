import { createHash } from "node:crypto";
import { bufferOfJson, isObject, type JsonObject, jsonOf, typeOfStatus } from "@unigate/core";
import type { LocalAnswer, SurfaceName, UpstreamRequest } from "../define.ts";
import { answerOf, modelOf } from "./answer.ts";
import { type Scenario, scenarioOf } from "./scenario.ts";
import { streamEvents, unaryJson } from "./write.ts";

/** Most values a made-up embedding has. */
const MAX_DIMENSIONS = 3_072;

/** Answers a request without any network; the table in index.ts says what. */
export function answerLocally(models: readonly string[], request: UpstreamRequest, surface: SurfaceName | "proxy"): LocalAnswer {
  const path = request.path.split("?", 1)[0] ?? "";
  if (surface === "proxy" && request.method === "GET" && path === "/models") {
    return unary(200, { object: "list", data: models.map((id) => ({ id, object: "model", created: 0, owned_by: "mock" })) });
  }
  const json = bodyOf(request);
  if (json === null) return surface === "chat" ? refusal(400, "The body is not a JSON object.") : echo(request, null);
  const scenario = scenarioOf(modelOf(json));
  if (scenario.kind === "error")
    return { ...refusal(scenario.status, `You asked for status ${scenario.status}.`), delayMs: scenario.delayMs };
  if (surface === "proxy" && path === "/embeddings") return unary(200, embeddings(json));
  if (surface === "proxy" && path !== "/chat/completions") return echo(request, json);
  return json["stream"] === true ? streamed(json, scenario) : answered(json, scenario);
}

function answered(json: JsonObject, scenario: Scenario): LocalAnswer {
  if (scenario.kind === "stream-error" || scenario.kind === "late-error") return refusal(529, "The mock is overloaded.");
  if (scenario.kind === "garbage") return page();
  const body = bufferOfJson(unaryJson(answerOf(json, scenario)));
  const cut = scenario.kind === "cut";
  return {
    status: 200,
    headers: { "content-type": "application/json" },
    pieces: [{ afterMs: 0, data: cut ? body.subarray(0, Math.ceil(body.length / 2)) : body }],
    cut,
    delayMs: scenario.delayMs,
  };
}

function streamed(json: JsonObject, scenario: Scenario): LocalAnswer {
  if (scenario.kind === "garbage") return { ...page(), headers: { "content-type": "text/event-stream" } };
  const options = json["stream_options"];
  const events = streamEvents(answerOf(json, scenario), isObject(options) && options["include_usage"] === true);
  const pieces = events.map(({ data, content }) => ({ afterMs: content ? scenario.betweenMs : 0, data: eventBytes(data) }));
  const failure = { afterMs: 0, data: eventBytes(JSON.stringify(errorJson(529, "The mock is overloaded."))) };
  const half = Math.max(2, Math.ceil(pieces.length / 2));
  const shown =
    scenario.kind === "stream-error"
      ? [...pieces.slice(0, 1), failure]
      : scenario.kind === "late-error"
        ? [...pieces.slice(0, half), failure]
        : scenario.kind === "cut"
          ? pieces.slice(0, half)
          : pieces;
  return {
    status: 200,
    headers: { "content-type": "text/event-stream" },
    pieces: shown,
    cut: scenario.kind === "cut",
    delayMs: scenario.delayMs,
  };
}

function eventBytes(data: string): Buffer {
  return Buffer.from(`data: ${data}\n\n`);
}

function bodyOf(request: UpstreamRequest): JsonObject | null {
  if (request.body === null) return null;
  try {
    const json = jsonOf(request.body);
    return isObject(json) ? json : null;
  } catch {
    return null;
  }
}

function unary(status: number, json: JsonObject, headers: Record<string, string> = {}): LocalAnswer {
  return { status, headers: { "content-type": "application/json", ...headers }, pieces: [{ afterMs: 0, data: bufferOfJson(json) }] };
}

function errorJson(status: number, message: string): JsonObject {
  const type = status === 529 ? "overloaded_error" : typeOfStatus(status);
  return { error: { message, type, param: null, code: `mock_${status}` } };
}

function refusal(status: number, message: string): LocalAnswer {
  return unary(status, errorJson(status, message), status === 429 ? { "retry-after": "1" } : {});
}

/** What a broken proxy in front of a provider sends; framed as an event, so that a stream's reader meets it too. */
function page(): LocalAnswer {
  const data = Buffer.from("data: <html><body><h1>This is no answer</h1></body></html>\n\n");
  return { status: 200, headers: { "content-type": "text/html" }, pieces: [{ afterMs: 0, data }] };
}

function echo(request: UpstreamRequest, json: JsonObject | null): LocalAnswer {
  const text = request.body === null ? "" : request.body.toString("utf8");
  return unary(200, { object: "mock.echo", method: request.method, path: request.path, body: json ?? text });
}

/** Vectors that depend on the text alone, each of length 1. */
function embeddings(json: JsonObject): JsonObject {
  const inputs: unknown[] = Array.isArray(json["input"]) ? json["input"] : [json["input"]];
  const asked = json["dimensions"];
  const dimensions = typeof asked === "number" && asked >= 1 ? Math.min(Math.floor(asked), MAX_DIMENSIONS) : 16;
  const tokens = inputs.length * 8;
  return {
    object: "list",
    model: modelOf(json),
    data: inputs.map((input, index) => ({ object: "embedding", index, embedding: embedding(JSON.stringify(input), dimensions) })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

function embedding(text: string | undefined, dimensions: number): number[] {
  const values: number[] = [];
  for (let block = 0; values.length < dimensions; block++) {
    const bytes = createHash("sha256")
      .update(`${block}:${text ?? ""}`)
      .digest();
    for (const byte of bytes.subarray(0, dimensions - values.length)) values.push((byte - 127.5) / 127.5);
  }
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}
