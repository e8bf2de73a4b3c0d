import { z } from "zod";
import { belonging, listFields, origin, reference, successful } from "../answers.ts";

const row = z.object({
  ...reference("config"),
  name: z.string(),
  ...belonging,
  status: z.literal("active"),
  is_default: z.union([z.literal(0), z.literal(1)]),
  version_id: z.string(),
  ...origin,
});
/** JSON text of the config, its credentials masked. */
const config = z.string();

export const configsAnswer = z.object({ success: z.literal(true), ...listFields(row) });
export const configAnswer = successful(row.extend({ config }));
export const newConfigAnswer = successful(z.object({ ...reference("config"), version_id: z.string() }));
export const changedConfigAnswer = successful(z.object({ id: z.string(), slug: z.string(), version_id: z.string() }));
export const configVersionsAnswer = z.object(
  listFields(
    z.object({
      id: z.string(),
      object: z.literal("config-version"),
      version: z.int().min(1),
      name: z.string(),
      config,
      created_at: origin.created_at,
    }),
  ),
);
