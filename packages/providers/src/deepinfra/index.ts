import { openAiVendor } from "../shapes/openai-chat/index.ts";

export default openAiVendor({
  id: "deepinfra",
  title: "DeepInfra",
  baseUrl: "https://api.deepinfra.com/v1/openai",
  envKey: "DEEPINFRA_API_KEY",
  models: [
    "meta-llama/Llama-3.3-70B-Instruct-Turbo",
    "deepseek-ai/DeepSeek-V3.1",
    "Qwen/Qwen3-235B-A22B-Instruct-2507",
    "moonshotai/Kimi-K2-Instruct-0905",
    "openai/gpt-oss-120b",
  ],
  chat: { rename: { max_completion_tokens: "max_tokens" }, developerAsSystem: true },
});
