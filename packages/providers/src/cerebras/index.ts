import { openAiVendor } from "../shapes/openai-chat/index.ts";

export default openAiVendor({
  id: "cerebras",
  title: "Cerebras",
  baseUrl: "https://api.cerebras.ai/v1",
  envKey: "CEREBRAS_API_KEY",
  models: ["gpt-oss-120b", "zai-glm-4.7", "llama-3.3-70b", "llama3.1-8b", "qwen-3-32b"],
  chat: { developerAsSystem: true },
});
