import { isObject } from "@unigate/core";
import type { Gateway } from "@unigate/testkit";
import OpenAI from "openai";

/** The official SDK pointed at the gateway; it repeats nothing by itself. */
export function openAi(gateway: Pick<Gateway, "baseUrl">, apiKey: string, headers: Readonly<Record<string, string>> = {}): OpenAI {
  return new OpenAI({ baseURL: gateway.baseUrl, apiKey, defaultHeaders: headers, maxRetries: 0 });
}

/** What a caller gets from the SDK, without what differs from call to call. */
export interface Seen {
  readonly text: string | null;
  readonly reasoning: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finishReason: string | null;
  readonly model: string;
  readonly usage: unknown;
}

/** The first choice of a completion. */
export function seenOf(completion: OpenAI.Chat.ChatCompletion): Seen {
  const choice = completion.choices[0];
  return {
    text: choice?.message.content ?? null,
    reasoning: reasoningOf(choice?.message),
    toolCalls: (choice?.message.tool_calls ?? []).map((call) =>
      call.type === "function"
        ? { id: call.id, name: call.function.name, arguments: call.function.arguments }
        : { id: call.id, name: call.type, arguments: "" },
    ),
    finishReason: choice?.finish_reason ?? null,
    model: completion.model,
    usage: completion.usage ?? null,
  };
}

/** The first choice of a stream, read to its end. */
export async function seenOfStream(stream: AsyncIterable<OpenAI.Chat.ChatCompletionChunk>): Promise<Seen> {
  let [text, reasoning, model] = ["", "", ""];
  let finishReason: string | null = null;
  let usage: unknown = null;
  const calls: { id: string; name: string; arguments: string }[] = [];
  for await (const chunk of stream) {
    model = chunk.model === "" ? model : chunk.model;
    usage = chunk.usage ?? usage;
    const choice = chunk.choices.find(({ index }) => index === 0);
    if (choice === undefined) continue;
    text += choice.delta.content ?? "";
    reasoning += reasoningOf(choice.delta);
    finishReason = choice.finish_reason ?? finishReason;
    for (const { index, id, function: called } of choice.delta.tool_calls ?? []) {
      const call = (calls[index] ??= { id: "", name: "", arguments: "" });
      call.id += id ?? "";
      call.name += called?.name ?? "";
      call.arguments += called?.arguments ?? "";
    }
  }
  return { text: text === "" ? null : text, reasoning, toolCalls: calls, finishReason, model, usage };
}

/** A field that several providers send and the SDK's types do not know. */
function reasoningOf(message: object | undefined): string {
  return isObject(message) && typeof message["reasoning_content"] === "string" ? message["reasoning_content"] : "";
}
