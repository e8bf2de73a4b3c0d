import { openAiVendor } from "../shapes/openai-chat/index.ts";

export default openAiVendor({
  id: "openai",
  title: "OpenAI",
  baseUrl: "https://api.openai.com/v1",
  envKey: "OPENAI_API_KEY",
  models: [
    "gpt-5.2",
    "gpt-5",
    "gpt-5-mini",
    "gpt-5-nano",
    "gpt-4.1",
    "gpt-4.1-mini",
    "gpt-4.1-nano",
    "gpt-4o",
    "gpt-4o-mini",
    "o3",
    "o4-mini",
  ],
  chat: {
    settingHeaders: { provider_organization: "openai-organization", provider_project: "openai-project" },
    passHeaders: ["openai-beta"],
  },
});
