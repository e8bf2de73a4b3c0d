import type { Surface } from "../define.ts";
import { readGenerateContent } from "./answer.ts";
import { buildGenerateContent } from "./request.ts";
import { streamGenerateContent } from "./stream.ts";

/** The chat surface of the Gemini API. `provider` is the id for error texts. */
export function generateContentChat(provider: string): Surface {
  return {
    build: buildGenerateContent,
    read: (body, input) => readGenerateContent(body, input, provider),
    stream: (input) => streamGenerateContent(input, provider),
  };
}
