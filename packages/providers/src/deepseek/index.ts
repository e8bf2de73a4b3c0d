import { openAiVendor } from "../shapes/openai-chat/index.ts";
import { schemaInPrompt } from "./schema-in-prompt.ts";

/** Knows json_object only: a JSON schema is put into the prompt. */
export default openAiVendor({
  id: "deepseek",
  title: "DeepSeek",
  baseUrl: "https://api.deepseek.com",
  envKey: "DEEPSEEK_API_KEY",
  models: ["deepseek-v4-pro", "deepseek-v4-flash", "deepseek-chat", "deepseek-reasoner"],
  chat: { rename: { max_completion_tokens: "max_tokens" }, developerAsSystem: true, prepare: schemaInPrompt },
});
