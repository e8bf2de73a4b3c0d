import type { JsonObject } from "@unigate/core";
import { createSseParser } from "@unigate/http";
import type { Provider, StreamInput, StreamReader, Surface } from "@unigate/providers";

/** Which wire a provider's chat surface speaks, told by the path it calls. */
export type Wire = "openai" | "anthropic" | "google";

/** The chat surface of a provider; all of them have one. */
export function chatOf(provider: Provider): Surface {
  const surface = provider.surfaces.chat;
  if (surface === undefined) throw new Error(`${provider.id} has no chat surface`);
  return surface;
}

/** The wire of a provider and the end of the paths that belong to it. */
export function wireOf(provider: Provider): { readonly wire: Wire; belongs: (path: string) => boolean } {
  const path = chatOf(provider).build(inputOf({ model: "m", messages: [{ role: "user", content: "x" }] }, {})).path;
  if (path.includes("generateContent"))
    return { wire: "google", belongs: (other) => /:(generateContent|streamGenerateContent)$/.test(other) };
  if (path.endsWith("/messages")) return { wire: "anthropic", belongs: (other) => other.endsWith("/messages") };
  return { wire: "openai", belongs: (other) => other.endsWith(path) };
}

/** What a surface is given for a client's body. */
export function inputOf(json: JsonObject, more: Partial<StreamInput>): StreamInput {
  const options = json["stream_options"] as JsonObject | null | undefined;
  return {
    body: Buffer.from(JSON.stringify(json)),
    json,
    model: typeof json["model"] === "string" ? json["model"] : "m",
    stream: json["stream"] === true,
    clientUsage: options?.["include_usage"] === true,
    strict: true,
    settings: {},
    headers: {},
    created: 1_700_000_000,
    wantDeltas: true,
    wantAssembled: true,
    ...more,
  };
}

/** Reads a stream from the pieces the network gave it in, to the end of its body. */
export function replay(surface: Surface, input: StreamInput, pieces: Iterable<Buffer>): StreamReader {
  const reader = surface.stream(input);
  const parser = createSseParser((name, data) => reader.event(name, data));
  for (const piece of pieces) parser.push(piece);
  parser.end();
  reader.end();
  return reader;
}

/** A body cut after each of its first `most` bytes. */
export function* byteByByte(body: Buffer, most: number): Generator<Buffer> {
  const single = Math.min(body.length, most);
  for (let at = 0; at < single; at++) yield body.subarray(at, at + 1);
  yield body.subarray(single);
}

/** A body cut at places that a seed draws: pieces of 1 to 200 bytes. */
export function* seededPieces(body: Buffer, seed: number): Generator<Buffer> {
  let state = seed;
  let at = 0;
  while (at < body.length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const length = 1 + ((state >>> 8) % 200);
    yield body.subarray(at, at + length);
    at += length;
  }
}
