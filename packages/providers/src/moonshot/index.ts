import { openAiVendor } from "../shapes/openai-chat/index.ts";

export default openAiVendor({
  id: "moonshot",
  title: "Moonshot AI",
  aliases: ["moonshotai"],
  baseUrl: "https://api.moonshot.ai/v1",
  envKey: "MOONSHOT_API_KEY",
  models: ["kimi-k3", "kimi-k2.5", "kimi-k2-0905-preview", "kimi-k2-turbo-preview", "kimi-k2-thinking"],
  chat: { rename: { max_completion_tokens: "max_tokens" }, developerAsSystem: true },
});
