import { openAiVendor } from "../shapes/openai-chat/index.ts";

/** A router: the answer has the shape of the back end behind it (`model:back-end`). */
export default openAiVendor({
  id: "huggingface",
  title: "Hugging Face",
  baseUrl: "https://router.huggingface.co/v1",
  envKey: "HF_TOKEN",
  models: [
    "meta-llama/Llama-3.3-70B-Instruct",
    "deepseek-ai/DeepSeek-V3.1",
    "Qwen/Qwen3-235B-A22B-Instruct-2507",
    "moonshotai/Kimi-K2-Instruct-0905",
    "openai/gpt-oss-120b",
  ],
  chat: { rename: { max_completion_tokens: "max_tokens" }, developerAsSystem: true },
});
