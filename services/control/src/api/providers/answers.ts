import { z } from "zod";
import { anything, belonging, limits, origin, reference, successful } from "../answers.ts";

const common = {
  name: z.string(),
  note: z.string().nullable(),
  status: z.literal("active"),
  ...belonging,
  custom_host: z.string().nullable(),
  allow_custom_host: z.boolean(),
  rate_limits: limits,
  provider: z.string(),
  ...origin,
};

export const providerAnswer = z.object({
  ...reference("provider"),
  ...common,
  ai_provider_id: z.string(),
  integration_id: z.string().nullable(),
  configurations: anything,
});
export const virtualKeyAnswer = z.object({ ...reference("virtual-key"), ...common, model_config: anything });
export const savedProviderAnswer = z.object(reference("provider"));
export const savedVirtualKeyAnswer = successful(z.object({ slug: z.string() }));
