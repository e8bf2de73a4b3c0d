import { openAiVendor } from "../shapes/openai-chat/index.ts";
import { mistralMessages } from "./messages.ts";

/** Usage ends every stream unasked; unknown body fields are refused (providers.md section 8). */
export default openAiVendor({
  id: "mistral-ai",
  title: "Mistral AI",
  aliases: ["mistral"],
  baseUrl: "https://api.mistral.ai/v1",
  envKey: "MISTRAL_API_KEY",
  models: [
    "mistral-large-latest",
    "mistral-medium-latest",
    "mistral-small-latest",
    "magistral-medium-latest",
    "magistral-small-latest",
    "ministral-8b-latest",
    "codestral-latest",
    "devstral-medium-latest",
  ],
  chat: {
    rename: { seed: "random_seed", max_completion_tokens: "max_tokens" },
    drop: ["stream_options", "logit_bias", "logprobs", "top_logprobs", "user", "store", "service_tier"],
    streamUsage: "always",
    toolChoice: { required: "any" },
    developerAsSystem: true,
    prepare: mistralMessages,
  },
});
