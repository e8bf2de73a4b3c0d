import { z } from "zod";
import { anything, belonging, origin, reference } from "../answers.ts";

export const guardrailAnswer = z.object({
  ...reference("guardrail"),
  name: z.string(),
  ...belonging,
  status: z.literal("active"),
  version_id: z.string(),
  checks: z.array(z.object({ id: z.string(), name: z.string().optional(), parameters: anything, is_enabled: z.boolean() })),
  actions: anything,
  ...origin,
});
export const newGuardrailAnswer = z.object({ ...reference("guardrail"), version_id: z.string() });
export const changedGuardrailAnswer = z.object({ id: z.string(), slug: z.string(), version_id: z.string() });
