import { none } from "../auth/index.ts";
import { defineProvider } from "../define.ts";
import { openAiChat, readOpenAiError } from "../shapes/openai-chat/index.ts";
import { answerLocally } from "./local.ts";

const MODELS = [
  "mock-1",
  "mock-reasoning",
  "mock-stream-50",
  "mock-drip-100",
  "mock-slow-2000",
  "mock-error-429",
  "mock-error-500",
  "mock-stream-error",
  "mock-stream-error-late",
  "mock-cut",
  "mock-garbage",
];

/**
 * Answers without any network, and the same to the same body. Tokens are words.
 *
 * | in the body | answer |
 * |---|---|
 * | anything | repeats the last text it was given |
 * | `max_tokens`, `stop`, `n` | obeyed (finish reason "length" when cut) |
 * | `tool_choice` "required" or a named function | a call of it, with arguments made from its schema |
 * | `tools`, and the last text names some of them | a call of each; of the first when `parallel_tool_calls` is false |
 * | a tool's answer as last message | text |
 * | `response_format` json_object, json_schema | a JSON object; a value that fits the schema |
 * | `reasoning_effort` (not "none"), `thinking` enabled | reasoning text before the answer |
 *
 * | model | answer |
 * |---|---|
 * | `mock-1`, any other name | as above |
 * | `mock-reasoning` | always with reasoning text |
 * | `mock-stream-<n>` | n words, so n content chunks |
 * | `mock-slow-<ms>` | waits before the head |
 * | `mock-drip-<ms>` | waits before each content chunk |
 * | `mock-error-<status>` | that status, 400 to 599; 429 with `retry-after: 1` |
 * | `mock-stream-error` | a stream with an error event before any content; unary: 529 |
 * | `mock-stream-error-late` | the same in the middle of the content |
 * | `mock-cut` | the connection breaks half-way |
 * | `mock-garbage` | status 200 and a page that is no answer |
 *
 * Proxied: `/models`, `/embeddings`, `/chat/completions`; everything else is told back (method, path, body).
 */
export default defineProvider({
  id: "mock",
  title: "Mock",
  baseUrl: "https://mock.invalid/v1",
  keyless: true,
  auth: none(),
  surfaces: { chat: openAiChat("mock") },
  readError: (status, body) => readOpenAiError("mock", status, body),
  models: MODELS,
  local: (request, surface) => answerLocally(MODELS, request, surface),
});
