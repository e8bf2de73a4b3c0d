import type { JsonObject } from "@unigate/core";
import type { MockAnswer, MockChoice } from "./answer.ts";

/** The moment every answer claims to be made at (Unix seconds): the mock has no clock. */
const CREATED = 1_735_689_600;

/** The answer as one `chat.completion`. */
export function unaryJson(answer: MockAnswer): JsonObject {
  return {
    id: answer.id,
    object: "chat.completion",
    created: CREATED,
    model: answer.model,
    choices: answer.choices.map((choice, index) => ({
      index,
      message: {
        role: "assistant",
        content: choice.words.length === 0 && choice.toolCalls.length > 0 ? null : choice.words.join(""),
        refusal: null,
        ...(choice.reasoning.length === 0 ? {} : { reasoning_content: choice.reasoning.join("") }),
        ...(choice.toolCalls.length === 0
          ? {}
          : {
              tool_calls: choice.toolCalls.map(({ id, name, arguments: text }) => ({
                id,
                type: "function",
                function: { name, arguments: text },
              })),
            }),
      },
      logprobs: null,
      finish_reason: choice.finishReason,
    })),
    usage: answer.usage,
  };
}

/** One event of a stream, and whether it holds content. */
export interface MockEvent {
  readonly data: string;
  readonly content: boolean;
}

/** The answer as the events of a stream: role, content, finish, usage when asked for, `[DONE]`. */
export function streamEvents(answer: MockAnswer, withUsage: boolean): MockEvent[] {
  const events: MockEvent[] = [];
  const chunk = (choices: JsonObject[], content: boolean, more: JsonObject = {}): void => {
    const json = { id: answer.id, object: "chat.completion.chunk", created: CREATED, model: answer.model, choices, ...more };
    events.push({ data: JSON.stringify(json), content });
  };
  answer.choices.forEach((choice, index) => {
    chunk([{ index, delta: { role: "assistant", content: "" }, finish_reason: null }], false);
    for (const delta of deltasOf(choice)) chunk([{ index, delta, finish_reason: null }], true);
    chunk([{ index, delta: {}, finish_reason: choice.finishReason }], false);
  });
  if (withUsage) chunk([], false, { usage: answer.usage });
  events.push({ data: "[DONE]", content: false });
  return events;
}

function* deltasOf(choice: MockChoice): Generator<JsonObject> {
  for (const word of choice.reasoning) yield { reasoning_content: word };
  for (const word of choice.words) yield { content: word };
  for (const [index, { id, name, arguments: text }] of choice.toolCalls.entries()) {
    yield { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] };
    const half = Math.ceil(text.length / 2);
    yield { tool_calls: [{ index, function: { arguments: text.slice(0, half) } }] };
    if (half < text.length) yield { tool_calls: [{ index, function: { arguments: text.slice(half) } }] };
  }
}
