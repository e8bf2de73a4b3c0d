import { openAiVendor } from "../shapes/openai-chat/index.ts";

export default openAiVendor({
  id: "openrouter",
  title: "OpenRouter",
  baseUrl: "https://openrouter.ai/api/v1",
  envKey: "OPENROUTER_API_KEY",
  models: [
    "openai/gpt-5",
    "openai/gpt-5-mini",
    "anthropic/claude-sonnet-4.5",
    "anthropic/claude-haiku-4.5",
    "google/gemini-2.5-pro",
    "google/gemini-2.5-flash",
    "deepseek/deepseek-chat",
    "x-ai/grok-4",
  ],
  chat: { passHeaders: ["http-referer", "x-title"] },
});
