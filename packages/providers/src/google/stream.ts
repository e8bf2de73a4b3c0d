import { boundedJson, type JsonObject } from "@unigate/core";
import { completionId } from "../chat/completion-id.ts";
import { listOf, objectOf, stringOf } from "../chat/json-value.ts";
import { createChatStream } from "../chat/stream-writer.ts";
import type { ChatDelta } from "../chat/types.ts";
import type { StreamInput, StreamReader } from "../define.ts";
import { unreadableEvent } from "../shapes/openai-chat/index.ts";
import { createdOf, isAnswer, isBlocked } from "./blocked.ts";
import { inbandError } from "./errors.ts";
import { blockOf, createBlockCounter, extrasOf } from "./extras.ts";
import { finishReasonOf, reasonWord } from "./finish-reason.ts";
import { logprobsOf } from "./logprobs.ts";
import { createPieceReader, type Piece, type PieceReader } from "./pieces.ts";
import { extraContent } from "./signature.ts";
import { toolCallOf } from "./tool-call.ts";
import { usageOf } from "./usage.ts";

interface ChoiceState {
  readonly index: number;
  readonly reader: PieceReader;
  readonly place: (piece: Piece) => number;
  calls: number;
  /** The provider's word; "" while the candidate goes on. */
  reason: string;
  /** What was told beside the content; the last telling counts. */
  extras: JsonObject;
}

type Delta = ChatDelta & { extra_content?: JsonObject };

/** More candidates than anyone asks for. */
const MAX_CHOICES = 128;

/**
 * Reads the events of `streamGenerateContent`. There is no terminal event: a finish reason for every candidate, or a
 * blocked prompt, and the close are the end; so finish reasons are told at the end. Each event repeats the usage, and the last counts.
 */
export function streamGenerateContent(input: StreamInput, provider: string): StreamReader {
  const stream = createChatStream(input);
  const state = stream.state;
  const choices = new Map<number, ChoiceState>();
  let id = "";
  let created = 0;
  let model = input.model;
  let blocked = false;

  function write(index: number, delta: Delta, finishReason: string | null = null, more: JsonObject = {}): void {
    const choice = { index, delta, logprobs: null, finish_reason: finishReason, ...more };
    stream.chunk({ id, object: "chat.completion.chunk", created, model, choices: [choice] });
  }

  function choiceAt(index: number): ChoiceState {
    const known = choices.get(index);
    if (known !== undefined) return known;
    const made = { index, reader: createPieceReader(), place: createBlockCounter(), calls: 0, reason: "", extras: {} };
    choices.set(index, made);
    write(index, { role: "assistant", content: "" });
    return made;
  }

  function tell(choice: ChoiceState, piece: Piece, more: JsonObject): void {
    if (piece.kind === "call") {
      const index = choice.calls++;
      const call = toolCallOf(piece.call, piece.signature, { response: id, choice: choice.index, index });
      write(choice.index, { tool_calls: [{ index, ...call }] }, null, more);
      return;
    }
    const delta: Delta = piece.kind === "text" ? { content: piece.text } : {};
    if (input.strict) state.content = true;
    else delta.content_blocks = [{ index: choice.place(piece), delta: blockOf(piece) }];
    if (!input.strict || piece.kind === "text") write(choice.index, delta, null, more);
  }

  function readCandidate(candidate: JsonObject, position: number): void {
    const index = typeof candidate["index"] === "number" ? candidate["index"] : position;
    if (!choices.has(index) && choices.size >= MAX_CHOICES) return;
    const choice = choiceAt(index);
    const pieces = choice.reader.read(candidate);
    const logprobs = logprobsOf(candidate["logprobsResult"]);
    if (pieces.length === 0 && logprobs !== null) write(index, {}, null, { logprobs });
    for (const [at, piece] of pieces.entries()) tell(choice, piece, at === 0 && logprobs !== null ? { logprobs } : {});
    const reason = reasonWord(candidate["finishReason"]);
    if (reason !== "") choice.reason = reason;
    if (!input.strict) Object.assign(choice.extras, extrasOf(candidate));
  }

  function readAnswer(answer: JsonObject): void {
    id ||= stringOf(answer["responseId"]) || completionId(provider, input);
    created ||= createdOf(answer) || input.created;
    model = stringOf(answer["modelVersion"]) || model;
    for (const [position, candidate] of listOf(answer["candidates"]).entries()) readCandidate(objectOf(candidate), position);
    if (isBlocked(answer)) blocked = true;
    const usage = usageOf(answer["usageMetadata"]);
    if (usage !== null) stream.usage(usage);
  }

  function read(data: string): void {
    const parsed = boundedJson(data);
    // A stream that was not asked for as events is one list.
    const answers: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
    for (const answer of answers) {
      const error = inbandError(answer, provider);
      if (error !== null) return stream.fail(error);
      if (!isAnswer(answer)) return stream.fail(unreadableEvent(provider, data));
      readAnswer(answer);
    }
  }

  function finish(choice: ChoiceState): void {
    for (const piece of choice.reader.rest()) tell(choice, piece, {});
    const signature = input.strict ? "" : choice.reader.textSignature();
    write(choice.index, signature === "" ? {} : { extra_content: extraContent(signature) }, finishReasonOf(choice.reason), choice.extras);
  }

  return {
    state,
    event(_name, data) {
      if (state.done || state.failure !== null || data.trim() === "" || data.startsWith("[DONE]")) return;
      try {
        read(data);
      } catch {
        stream.fail(unreadableEvent(provider, data));
      }
    },
    end() {
      if (state.done || state.failure !== null) return;
      if (blocked && choices.size === 0) {
        write(0, { role: "assistant", content: "" });
        write(0, {}, "content_filter");
        return stream.done();
      }
      const all = [...choices.values()];
      if (all.length === 0 || !all.every((choice) => choice.reason !== "" || blocked)) return;
      for (const choice of all) {
        if (choice.reason === "") choice.reason = "SAFETY";
        finish(choice);
      }
      stream.done();
    },
    assembled: () => stream.assembled(),
  };
}
