import { openAiVendor } from "../shapes/openai-chat/index.ts";

export default openAiVendor({
  id: "z-ai",
  title: "Z.AI",
  aliases: ["zai"],
  baseUrl: "https://api.z.ai/api/paas/v4",
  envKey: "ZAI_API_KEY",
  models: ["glm-5.2", "glm-4.7", "glm-4.7-flash", "glm-4.6", "glm-4.5", "glm-4.5-air", "glm-4.5-flash"],
  chat: { rename: { max_completion_tokens: "max_tokens" }, developerAsSystem: true },
});
