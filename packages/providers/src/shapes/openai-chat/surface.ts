import type { Surface } from "../../define.ts";
import { buildRequest } from "./build.ts";
import type { OpenAiChatOptions } from "./options.ts";
import { readAnswer } from "./read.ts";
import { createOpenAiReader } from "./stream.ts";

/** The chat surface of a provider that speaks OpenAI's chat completions. `provider` is its id, for error texts. */
export function openAiChat(provider: string, options: OpenAiChatOptions = {}): Surface {
  return {
    build: (input) => buildRequest(input, options),
    read: (body, input) => readAnswer(provider, body, input, options),
    stream: (input) => createOpenAiReader(provider, input, options),
  };
}
