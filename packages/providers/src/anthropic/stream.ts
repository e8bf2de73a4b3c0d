import { isObject, type JsonObject } from "@unigate/core";
import { objectIn, objectOf, stringOf } from "../chat/json-value.ts";
import { createChatStream } from "../chat/stream-writer.ts";
import type { ChatDelta } from "../chat/types.ts";
import type { StreamInput, StreamReader } from "../define.ts";
import { unreadableEvent } from "../shapes/openai-chat/index.ts";
import { refusalOf } from "./answer.ts";
import { inbandError } from "./errors.ts";
import { finishReasonOf } from "./finish-reason.ts";
import { createToolCallWriter, type OpenCall } from "./tool-call-writer.ts";
import { mergeCounts, usageOf } from "./usage.ts";

/** A content block that is open upstream. */
type OpenBlock =
  | { readonly kind: "call"; readonly call: OpenCall }
  | { readonly kind: "said"; readonly index: number }
  /** Work of the provider's own tools; its input comes in pieces. */
  | { readonly kind: "server"; readonly index: number; readonly block: JsonObject; input: string };

/**
 * Reads the event stream of `POST /messages`. Outside strict mode thoughts, their signatures, citations and the blocks
 * of the provider's own tools are told in `content_blocks` of the deltas. `provider` is the id shown in errors.
 */
export function streamMessages(input: StreamInput, provider: string): StreamReader {
  const stream = createChatStream(input);
  const state = stream.state;
  const calls = createToolCallWriter((delta) => write({ tool_calls: [delta] }));
  const open = new Map<unknown, OpenBlock>();
  let id = "";
  let model = input.model;
  let started = false;
  let counts: JsonObject = {};
  let stopping: JsonObject | null = null;
  /** Number of content blocks told; a message that starts anew goes on counting. */
  let told = 0;

  function write(delta: ChatDelta, finishReason: string | null = null): void {
    stream.chunk({
      id,
      object: "chat.completion.chunk",
      created: input.created,
      model,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    });
  }

  /** A piece of a content block that only clients outside strict mode see; it is content all the same. */
  function tell(index: number, delta: JsonObject): void {
    if (input.strict) state.content = true;
    else write({ content_blocks: [{ index, delta }] });
  }

  function startMessage(message: JsonObject): void {
    count(message["usage"]);
    stopping = null;
    if (started) {
      open.clear();
      calls.restart();
      return;
    }
    started = true;
    id = stringOf(message["id"]);
    model = stringOf(message["model"]) || model;
    write({ role: "assistant", content: "" });
  }

  function startBlock(position: unknown, block: JsonObject): void {
    switch (block["type"]) {
      case "tool_use": {
        const whole = JSON.stringify(objectOf(block["input"]));
        open.set(position, { kind: "call", call: calls.open(stringOf(block["id"]), stringOf(block["name"]), whole) });
        return;
      }
      case "text":
        open.set(position, { kind: "said", index: told++ });
        addText(position, stringOf(block["text"]));
        return;
      case "thinking":
        // A hidden thought has no text until its signature comes; that it began already shows that the model answers.
        state.content = true;
        open.set(position, { kind: "said", index: told++ });
        addThought(position, stringOf(block["thinking"]));
        return;
      case "redacted_thinking":
        tell(told++, { data: stringOf(block["data"]) });
        return;
      default:
        open.set(position, { kind: "server", index: told++, block, input: "" });
    }
  }

  function addToBlock(position: unknown, delta: JsonObject): void {
    const block = open.get(position);
    switch (delta["type"]) {
      case "text_delta":
        addText(position, stringOf(delta["text"]));
        return;
      case "thinking_delta":
        addThought(position, stringOf(delta["thinking"]));
        return;
      case "signature_delta":
        if (block?.kind === "said") tell(block.index, { signature: stringOf(delta["signature"]) });
        return;
      case "citations_delta":
        if (block?.kind === "said") tell(block.index, { citations: [delta["citation"]] });
        return;
      case "input_json_delta":
        if (block?.kind === "call") calls.add(block.call, stringOf(delta["partial_json"]));
        else if (block?.kind === "server") block.input += stringOf(delta["partial_json"]);
        return;
      default:
    }
  }

  function addText(position: unknown, text: string): void {
    const block = open.get(position);
    if (text === "") return;
    if (input.strict || block?.kind !== "said") write({ content: text });
    else write({ content: text, content_blocks: [{ index: block.index, delta: { text } }] });
  }

  function addThought(position: unknown, thinking: string): void {
    const block = open.get(position);
    if (thinking !== "" && block?.kind === "said") tell(block.index, { thinking });
  }

  function stopBlock(position: unknown): void {
    const block = open.get(position);
    open.delete(position);
    if (block?.kind === "call") calls.close(block.call);
    if (block?.kind !== "server") return;
    const work = block.input === "" ? block.block : { ...block.block, input: objectIn(block.input) ?? block.input };
    tell(block.index, work);
  }

  function count(newer: unknown): void {
    if (!isObject(newer)) return;
    counts = mergeCounts(counts, newer);
    stream.usage(usageOf(counts));
  }

  function finish(): void {
    if (state.failure !== null || state.done) return;
    for (const position of open.keys()) stopBlock(position);
    const refusal = refusalOf(stopping ?? {});
    if (refusal !== null) write({ refusal });
    write({}, finishReasonOf(stopping?.["stop_reason"]));
    stream.done();
  }

  function dispatch(event: JsonObject): void {
    switch (event["type"]) {
      case "message_start":
        return startMessage(objectOf(event["message"]));
      case "content_block_start":
        return startBlock(event["index"], objectOf(event["content_block"]));
      case "content_block_delta":
        return addToBlock(event["index"], objectOf(event["delta"]));
      case "content_block_stop":
        return stopBlock(event["index"]);
      case "message_delta":
        count(event["usage"]);
        stopping = mergeCounts(stopping ?? {}, objectOf(event["delta"]));
        return;
      case "message_stop":
        return finish();
      case "error":
        return stream.fail(inbandError(event, provider));
      default:
      // `ping`, and events that are newer than this code.
    }
  }

  return {
    state,
    event(_name, data) {
      if (data.trim() === "" || state.done || state.failure !== null) return;
      const event = objectIn(data);
      if (event === null) return stream.fail(unreadableEvent(provider, data));
      dispatch(event);
    },
    end() {
      // `message_stop` is the only proof of a whole answer.
    },
    assembled: () => stream.assembled(),
  };
}
