import { z } from "zod";
import { belonging, limits, origin } from "../answers.ts";

const time = z.iso.datetime().nullable();

/** A key as it is read: its text never is. */
export const keyAnswer = z.object({
  id: z.string(),
  object: z.literal("api-key"),
  key: z.string().nullable(),
  name: z.string(),
  description: z.string().nullable(),
  type: z.enum(["organisation-service", "workspace-service", "workspace-user"]),
  ...belonging,
  user_id: z.string().nullable(),
  status: z.enum(["active", "expired"]),
  creation_mode: z.enum(["api", "auto"]),
  scopes: z.array(z.string()),
  defaults: z.object({ config_id: z.string().nullable(), metadata: z.record(z.string(), z.string()), allow_config_override: z.boolean() }),
  rate_limits: limits,
  allowed_models: z.array(z.string()).nullable(),
  allowed_providers: z.array(z.string()).nullable(),
  expires_at: time,
  key_transition_expires_at: time,
  ...origin,
});

export const newKeyAnswer = z.object({ id: z.string(), key: z.string(), object: z.literal("api-key") });
export const rotatedKeyAnswer = z.object({ id: z.string(), key: z.string(), key_transition_expires_at: time });
export const changedKeyAnswer = z.object({ id: z.string(), object: z.literal("api-key") });
