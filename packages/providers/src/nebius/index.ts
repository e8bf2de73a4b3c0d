import { openAiVendor } from "../shapes/openai-chat/index.ts";

export default openAiVendor({
  id: "nebius",
  title: "Nebius AI Studio",
  baseUrl: "https://api.studio.nebius.com/v1",
  envKey: "NEBIUS_API_KEY",
  models: [
    "meta-llama/Llama-3.3-70B-Instruct",
    "deepseek-ai/DeepSeek-V3-0324",
    "Qwen/Qwen3-235B-A22B-Instruct-2507",
    "moonshotai/Kimi-K2-Instruct",
    "openai/gpt-oss-120b",
  ],
  chat: { rename: { max_completion_tokens: "max_tokens" }, developerAsSystem: true },
});
