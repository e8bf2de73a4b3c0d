import { openAiVendor } from "../shapes/openai-chat/index.ts";

/** `completion_tokens` leaves reasoning out here; the shape adds it by the total. */
export default openAiVendor({
  id: "x-ai",
  title: "xAI",
  aliases: ["xai"],
  baseUrl: "https://api.x.ai/v1",
  envKey: "XAI_API_KEY",
  models: ["grok-4", "grok-4-fast-reasoning", "grok-4-fast-non-reasoning", "grok-code-fast-1", "grok-3", "grok-3-mini"],
  chat: { developerAsSystem: true },
});
