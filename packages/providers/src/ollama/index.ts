import { openAiVendor } from "../shapes/openai-chat/index.ts";

/** The OpenAI-like surface of a local server; a credential is sent only when there is one (ollama.com). */
export default openAiVendor({
  id: "ollama",
  title: "Ollama",
  baseUrl: "http://localhost:11434/v1",
  keyless: true,
  envKey: null,
  models: ["llama3.2", "llama3.1", "qwen3", "gemma3", "gpt-oss:20b", "deepseek-r1", "mistral"],
  chat: { rename: { max_completion_tokens: "max_tokens" }, developerAsSystem: true },
});
