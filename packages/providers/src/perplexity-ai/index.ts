import { openAiVendor } from "../shapes/openai-chat/index.ts";

/** Every chunk carries usage, and no `[DONE]` ends the stream. */
export default openAiVendor({
  id: "perplexity-ai",
  title: "Perplexity",
  aliases: ["perplexity"],
  baseUrl: "https://api.perplexity.ai",
  envKey: "PERPLEXITY_API_KEY",
  models: ["sonar", "sonar-pro", "sonar-reasoning", "sonar-reasoning-pro", "sonar-deep-research"],
  chat: { rename: { max_completion_tokens: "max_tokens" }, streamUsage: "always", terminal: "finish", developerAsSystem: true },
});
