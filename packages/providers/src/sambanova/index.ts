import { openAiVendor } from "../shapes/openai-chat/index.ts";

export default openAiVendor({
  id: "sambanova",
  title: "SambaNova",
  baseUrl: "https://api.sambanova.ai/v1",
  envKey: "SAMBANOVA_API_KEY",
  models: ["Meta-Llama-3.3-70B-Instruct", "Llama-4-Maverick-17B-128E-Instruct", "DeepSeek-V3.1", "DeepSeek-R1-0528", "gpt-oss-120b"],
  chat: { rename: { max_completion_tokens: "max_tokens" }, developerAsSystem: true },
});
