import { boundedJsonOf, bufferOfJson, GatewayError, type JsonObject } from "@unigate/core";
import { completionId } from "../chat/completion-id.ts";
import { listOf, objectOf, stringOf } from "../chat/json-value.ts";
import { openAiUsage } from "../chat/usage.ts";
import type { BuildInput, SurfaceReply } from "../define.ts";
import { createdOf, isAnswer, isBlocked } from "./blocked.ts";
import { inbandError } from "./errors.ts";
import { blockOf, createBlockCounter, extrasOf } from "./extras.ts";
import { finishReasonOf, reasonWord } from "./finish-reason.ts";
import { logprobsOf } from "./logprobs.ts";
import { createPieceReader, type Piece } from "./pieces.ts";
import { extraContent } from "./signature.ts";
import { toolCallOf } from "./tool-call.ts";
import { usageOf } from "./usage.ts";

/**
 * A generateContent answer as a chat completion. Throws `upstream_invalid` when the body is no such answer.
 */
export function readGenerateContent(body: Buffer, input: BuildInput, provider: string): SurfaceReply {
  const answer = parsed(body, provider);
  const id = stringOf(answer["responseId"]) || completionId(provider, input);
  const candidates = listOf(answer["candidates"]);
  const blocked = isBlocked(answer);
  const choices =
    candidates.length === 0
      ? [emptyChoice(blocked ? "content_filter" : "stop")]
      : candidates.map((candidate, position) => choiceOf(objectOf(candidate), position, id, input.strict));
  const usage = usageOf(answer["usageMetadata"]);
  const model = stringOf(answer["modelVersion"]) || input.model;
  const completion: JsonObject = { id, object: "chat.completion", created: createdOf(answer) || input.created, model, choices };
  if (usage !== null) completion["usage"] = openAiUsage(usage, input.strict);
  if (!input.strict && answer["promptFeedback"] != null) completion["promptFeedback"] = answer["promptFeedback"];
  return { body: bufferOfJson(completion), usage, model, finishReason: stringOf(objectOf(choices[0])["finish_reason"]) };
}

function parsed(body: Buffer, provider: string): JsonObject {
  let answer: unknown;
  try {
    answer = boundedJsonOf(body);
  } catch (cause) {
    throw new GatewayError("upstream_invalid", `The answer of ${provider} is not JSON, or nested too deeply.`, { cause });
  }
  if (isAnswer(answer)) return answer;
  const error = inbandError(answer, provider);
  if (error === null) throw new GatewayError("upstream_invalid", `The answer of ${provider} has no "candidates".`);
  throw new GatewayError("upstream_invalid", error.message, { status: error.status, type: error.type });
}

function emptyChoice(finishReason: string): JsonObject {
  return { index: 0, message: { role: "assistant", content: "", refusal: null }, logprobs: null, finish_reason: finishReason };
}

function choiceOf(candidate: JsonObject, position: number, responseId: string, strict: boolean): JsonObject {
  const index = typeof candidate["index"] === "number" ? candidate["index"] : position;
  const reader = createPieceReader();
  const pieces = [...reader.read(candidate), ...reader.rest()];
  const message = messageOf(pieces, index, responseId, strict);
  if (!strict && reader.textSignature() !== "") message["extra_content"] = extraContent(reader.textSignature());
  const reason = finishReasonOf(reasonWord(candidate["finishReason"]));
  return {
    index,
    message,
    logprobs: logprobsOf(candidate["logprobsResult"]),
    finish_reason: reason === "stop" && message["tool_calls"] !== undefined ? "tool_calls" : reason,
    ...(strict ? {} : extrasOf(candidate)),
  };
}

function messageOf(pieces: readonly Piece[], choice: number, response: string, strict: boolean): JsonObject {
  let text = "";
  const calls: JsonObject[] = [];
  const blocks: JsonObject[] = [];
  const place = createBlockCounter();
  for (const piece of pieces) {
    if (piece.kind === "text") text += piece.text;
    if (piece.kind === "call") {
      calls.push({ ...toolCallOf(piece.call, piece.signature, { response, choice, index: calls.length }) });
    } else if (!strict) addToBlock(blocks, place(piece), piece);
  }
  const message: JsonObject = { role: "assistant", content: text === "" && calls.length > 0 ? null : text, refusal: null };
  if (calls.length > 0) message["tool_calls"] = calls;
  if (blocks.length > 0) message["content_blocks"] = blocks;
  return message;
}

function addToBlock(blocks: JsonObject[], place: number, piece: Piece): void {
  const known = blocks[place];
  if (known === undefined) blocks.push({ type: piece.kind === "thought" ? "thinking" : "text", ...blockOf(piece) });
  else if (piece.kind === "text") known["text"] = `${stringOf(known["text"])}${piece.text}`;
  else if (piece.kind === "thought") known["thinking"] = `${stringOf(known["thinking"])}${piece.text}`;
}
