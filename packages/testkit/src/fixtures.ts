import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isObject, type JsonObject } from "@unigate/core";

/** One recorded exchange of a folder of recorded traffic: `<provider>/<surface>/<case>/`. */
export interface Recording {
  readonly provider: string;
  readonly surface: string;
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    /** Null when the source kept none, or when it was no JSON object. */
    readonly body: JsonObject | null;
  };
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Name of the response file: "response.json", "response.sse", "response.chunks.jsonl"... */
  readonly file: string;
  readonly bytes: Buffer;
}

/** Every recording of a folder that belongs to one of the surfaces. */
export function loadRecordings(root: string, surfaces: readonly string[]): Recording[] {
  const recordings: Recording[] = [];
  for (const provider of foldersOf(root)) {
    for (const surface of foldersOf(join(root, provider))) {
      if (!surfaces.includes(surface)) continue;
      for (const name of foldersOf(join(root, provider, surface))) recordings.push(loadRecording(root, provider, surface, name));
    }
  }
  return recordings;
}

function loadRecording(root: string, provider: string, surface: string, name: string): Recording {
  const folder = join(root, provider, surface, name);
  const request = readJson(join(folder, "request.json"));
  const status = readJson(join(folder, "status.json"));
  const file = readdirSync(folder).find((entry) => entry.startsWith("response."));
  if (file === undefined) throw new Error(`${folder} has no response file`);
  return {
    provider,
    surface,
    name,
    request: {
      method: String(request["method"]),
      path: String(request["path"]),
      body: isObject(request["body"]) ? request["body"] : null,
    },
    status: Number(status["status"]),
    headers: (isObject(status["headers"]) ? status["headers"] : {}) as Record<string, string>,
    file,
    bytes: readFileSync(join(folder, file)),
  };
}

function foldersOf(path: string): string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

function readJson(path: string): JsonObject {
  const value: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (!isObject(value)) throw new Error(`${path} is not a JSON object`);
  return value;
}

/**
 * A hand-written recording of a provider: `packages/providers/src/<id>/__fixtures__/`.
 *
 * - `chat.json`: `{"cases": [...]}`, each with `name`, `request` (the client's body), `built` (`path`, `body`, perhaps
 *   `headers`: what must go upstream), `answer` (the upstream's JSON) and `result`.
 * - `chat-stream.json`: the same with `chunks` in place of `answer`: the name of a file beside it with one event payload a
 *   line. There a line `event: name` names the next event, a line that begins with ":" is a comment of the stream, and
 *   one that begins with "#" a comment of the file.
 * - `error.json`: cases with `name`, `status`, `body` (JSON) or `text`, and `result`.
 *
 * A `result` holds only what is expected: `text`, `reasoning`, `refusal`, `toolCalls`, `finishReason`, `model`, `usage`
 * (buckets of the gateway's Usage), `clientUsage` (the `usage` object the client sees), `done` and `failure` (streams);
 * an error's fields. `strict`, `settings` and `headers` of a case are given to the provider.
 */
export interface OwnCase {
  readonly name: string;
  readonly request: JsonObject;
  readonly strict?: boolean;
  readonly settings?: JsonObject;
  readonly headers?: Record<string, string>;
  readonly built: { readonly path: string; readonly body: JsonObject; readonly headers?: Record<string, string> };
  readonly answer?: unknown;
  readonly chunks?: string;
  readonly result: OwnResult;
}

/** What a hand-written recording expects of an answer. */
export interface OwnResult {
  readonly text?: string;
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finishReason?: string;
  readonly model?: string;
  readonly usage?: JsonObject;
  readonly clientUsage?: JsonObject;
  readonly done?: boolean;
  readonly failure?: JsonObject;
}

/** An error body and what must be read from it. */
export interface OwnError {
  readonly name: string;
  readonly status: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly headers?: Record<string, string>;
  readonly result: JsonObject;
}

/** All hand-written recordings of one provider. */
export interface OwnRecordings {
  readonly provider: string;
  readonly folder: string;
  readonly chat: readonly OwnCase[];
  readonly stream: readonly OwnCase[];
  readonly errors: readonly OwnError[];
}

/** The hand-written recordings beside the providers' sources. */
export function loadOwnRecordings(sources: string): OwnRecordings[] {
  return foldersOf(sources)
    .map((provider) => ({ provider, folder: join(sources, provider, "__fixtures__") }))
    .filter(({ folder }) => existsSync(folder))
    .map(({ provider, folder }) => ({
      provider,
      folder,
      chat: casesOf(folder, "chat.json") as OwnCase[],
      stream: casesOf(folder, "chat-stream.json") as OwnCase[],
      errors: casesOf(folder, "error.json") as OwnError[],
    }));
}

function casesOf(folder: string, file: string): unknown[] {
  const path = join(folder, file);
  if (!existsSync(path)) return [];
  const cases = readJson(path)["cases"];
  if (!Array.isArray(cases) || !cases.every(isObject)) throw new Error(`${path} needs a list "cases" of objects`);
  return cases;
}

/** The bytes of a stream whose payloads lie in a file, one a line, as server-sent events. */
export function framedChunks(folder: string, file: string): Buffer {
  const lines = readFileSync(join(folder, file), "utf8").split("\n");
  const kept = lines.filter((line) => line !== "" && !line.startsWith("#"));
  return Buffer.from(kept.map(framedLine).join(""));
}

function framedLine(line: string): string {
  if (line.startsWith("event: ")) return `${line}\n`;
  return line.startsWith(":") ? `${line}\n\n` : `data: ${line}\n\n`;
}

/**
 * The bytes of a recorded stream as the wire carried them. Where the source had removed the framing it is put back: the
 * event's name from the payload's `type` when it has one. A terminal event that the source dropped stays away.
 */
export function streamBytes(recording: Recording): Buffer {
  if (recording.file !== "response.chunks.jsonl") return recording.bytes;
  const payloads = recording.bytes
    .toString("utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
  return Buffer.from(payloads.map(framedPayload).join(""));
}

function framedPayload(payload: string): string {
  const json: unknown = JSON.parse(payload);
  const name = isObject(json) && typeof json["type"] === "string" ? `event: ${json["type"]}\n` : "";
  return `${name}data: ${payload}\n\n`;
}
