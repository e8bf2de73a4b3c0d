import { openAiVendor } from "../shapes/openai-chat/index.ts";

/** Usage comes with the last chunk unasked; `stream_options` was refused by some versions. */
export default openAiVendor({
  id: "fireworks-ai",
  title: "Fireworks AI",
  aliases: ["fireworks"],
  baseUrl: "https://api.fireworks.ai/inference/v1",
  envKey: "FIREWORKS_API_KEY",
  models: [
    "accounts/fireworks/models/llama-v3p3-70b-instruct",
    "accounts/fireworks/models/deepseek-v3p1",
    "accounts/fireworks/models/kimi-k2-instruct-0905",
    "accounts/fireworks/models/qwen3-235b-a22b",
    "accounts/fireworks/models/gpt-oss-120b",
  ],
  chat: { rename: { max_completion_tokens: "max_tokens" }, streamUsage: "always", developerAsSystem: true },
});
