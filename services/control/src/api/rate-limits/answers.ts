import { z } from "zod";
import { belonging, origin } from "../answers.ts";

const object = z.literal("policy_usage_limits");
const condition = z.object({ key: z.string(), value: z.union([z.string(), z.array(z.string())]), excludes: z.literal(true).optional() });

export const policyAnswer = z.object({
  id: z.string(),
  object,
  name: z.string().nullable(),
  ...belonging,
  conditions: z.array(condition),
  group_by: z.array(z.object({ key: z.string() })),
  type: z.enum(["requests", "tokens", "concurrency"]),
  unit: z.enum(["rpm", "rph", "rpd", "rpw"]).nullable(),
  value: z.int().min(0),
  status: z.enum(["active", "archived"]),
  on_store_loss: z.enum(["open", "closed"]),
  ...origin,
});
export const savedPolicyAnswer = z.object({ id: z.string(), object });
