import { openAiVendor } from "../shapes/openai-chat/index.ts";

export default openAiVendor({
  id: "dashscope",
  title: "Alibaba Cloud Model Studio",
  aliases: ["alibaba"],
  baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
  envKey: "DASHSCOPE_API_KEY",
  models: ["qwen3-max", "qwen-max", "qwen-plus", "qwen-flash", "qwen-turbo", "qwen3-coder-plus", "qwen3-vl-plus"],
  chat: { rename: { max_completion_tokens: "max_tokens" }, developerAsSystem: true },
});
