import { openAiVendor } from "../shapes/openai-chat/index.ts";

export default openAiVendor({
  id: "together-ai",
  title: "Together AI",
  aliases: ["together"],
  baseUrl: "https://api.together.xyz/v1",
  envKey: "TOGETHER_API_KEY",
  models: [
    "meta-llama/Llama-3.3-70B-Instruct-Turbo",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
    "Qwen/Qwen3-235B-A22B-Instruct-2507-tput",
    "deepseek-ai/DeepSeek-V3.1",
    "moonshotai/Kimi-K2-Instruct-0905",
    "openai/gpt-oss-120b",
  ],
  chat: { rename: { max_completion_tokens: "max_tokens" }, developerAsSystem: true },
});
