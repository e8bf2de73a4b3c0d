/** Words of the GenAI conventions that differ from the catalogue's. */
const CONVENTIONAL: Readonly<Record<string, string>> = {
  "azure-openai": "azure.ai.openai",
  "azure-ai": "azure.ai.inference",
  bedrock: "aws.bedrock",
  google: "gcp.gemini",
  "vertex-ai": "gcp.vertex_ai",
  "mistral-ai": "mistral_ai",
  moonshot: "moonshot_ai",
  "perplexity-ai": "perplexity",
  "x-ai": "x_ai",
};

/** `gen_ai.provider.name` of a provider of the catalogue. */
export function providerName(id: string): string {
  return CONVENTIONAL[id] ?? id;
}
