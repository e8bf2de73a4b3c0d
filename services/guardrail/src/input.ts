import type { CheckInput } from "@unigate/checks";
import type { CheckRequest } from "@unigate/contracts";
import { boundedJsonOf, isObject, type JsonObject } from "@unigate/core";
import { RpcError } from "@unigate/rpc";
import { replyText, requestText } from "./text.ts";

/** What the checks of a call see. A body that is no JSON object is checked as it stands: nothing passes unseen. */
export function readInput({ phase, body, replyBody, status, facts, headers, provider }: CheckRequest): CheckInput {
  if (phase !== "before" && phase !== "after") {
    throw new RpcError("INVALID_ARGUMENT", `The phase is before or after, not "${phase}".`);
  }
  const surface = facts?.surface ?? "";
  const request = objectOf(body);
  const asked = request === null ? body.toString("utf8") : requestText(surface, request);
  const reply = phase === "after" ? objectOf(replyBody) : null;
  return {
    phase,
    text: phase === "before" ? asked : reply === null ? replyBody.toString("utf8") : replyText(reply),
    request: request ?? {},
    requestText: asked,
    reply: phase === "after" ? (reply ?? {}) : null,
    status: phase === "after" ? status : null,
    metadata: facts?.metadata ?? {},
    model: facts?.model ?? "",
    provider,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    surface,
    stream: facts?.stream ?? false,
    rewritten: false,
  };
}

/** The same after a check has rewritten the body of the phase. */
export function withRewritten(input: CheckInput, body: JsonObject): CheckInput {
  if (input.phase === "after") return { ...input, reply: body, text: replyText(body), rewritten: true };
  const text = requestText(input.surface, body);
  return { ...input, request: body, text, requestText: text, rewritten: true };
}

function objectOf(body: Buffer): JsonObject | null {
  if (body.length === 0) return null;
  try {
    const json = boundedJsonOf(body);
    return isObject(json) ? json : null;
  } catch {
    return null;
  }
}
