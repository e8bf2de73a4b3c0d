import { z } from "zod";
import { anything, belonging, origin, reference } from "../answers.ts";

export const integrationAnswer = z.object({
  ...reference("integration"),
  name: z.string(),
  description: z.string().nullable(),
  ai_provider_id: z.string(),
  ...belonging,
  status: z.literal("active"),
  configurations: anything,
  ...origin,
});
export const savedIntegrationAnswer = z.object(reference("integration"));

const total = z.int().min(0);
const model = z.object({
  slug: z.string(),
  enabled: z.boolean(),
  is_custom: z.boolean(),
  is_finetune: z.boolean(),
  base_model_slug: z.string().nullable(),
});
export const modelsAnswer = z.object({ object: z.literal("list"), total, allow_all_models: z.boolean(), models: z.array(model) });
export const workspacesAnswer = z.object({
  object: z.literal("list"),
  total,
  global_workspace_access: z.object({ enabled: z.boolean() }).nullable(),
  workspaces: z.array(z.object({ id: z.string(), enabled: z.boolean() })),
});
