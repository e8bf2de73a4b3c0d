import type { Surface } from "../define.ts";
import { readMessages } from "./answer.ts";
import { buildMessages } from "./request.ts";
import { streamMessages } from "./stream.ts";

/** The chat surface of a service that speaks the Messages API. `provider` is its id, for error texts. */
export function messagesChat(provider: string): Surface {
  return {
    build: buildMessages,
    read: (body, input) => readMessages(body, input, provider),
    stream: (input) => streamMessages(input, provider),
  };
}
