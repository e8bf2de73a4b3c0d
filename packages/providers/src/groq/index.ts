import { openAiVendor } from "../shapes/openai-chat/index.ts";

/** Groq answers 400 to the dropped fields. Its stream errors (`event: error`, `tool_use_failed`) and `x_groq.usage` are understood by the shape. */
export default openAiVendor({
  id: "groq",
  title: "Groq",
  baseUrl: "https://api.groq.com/openai/v1",
  envKey: "GROQ_API_KEY",
  models: [
    "llama-3.3-70b-versatile",
    "llama-3.1-8b-instant",
    "openai/gpt-oss-120b",
    "openai/gpt-oss-20b",
    "moonshotai/kimi-k2-instruct-0905",
    "qwen/qwen3-32b",
  ],
  chat: { drop: ["logit_bias", "logprobs", "top_logprobs"], developerAsSystem: true },
});
