import { headerKey } from "../auth/index.ts";
import { defineProvider } from "../define.ts";
import { readAnthropicError } from "./errors.ts";
import { messagesChat } from "./surface.ts";

export default defineProvider({
  id: "anthropic",
  title: "Anthropic",
  baseUrl: "https://api.anthropic.com/v1",
  auth: headerKey("x-api-key"),
  surfaces: { chat: messagesChat("anthropic") },
  readError: (status, body) => readAnthropicError(status, body, "anthropic"),
  models: [
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-opus-4-8",
    "claude-opus-4-6",
    "claude-sonnet-4-6",
    "claude-opus-4-5",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
    "claude-opus-4-1",
    "claude-3-7-sonnet-20250219",
  ],
  envKey: "ANTHROPIC_API_KEY",
});
