import { z } from "zod";
import { origin, reference } from "./answers.ts";

const object = z.literal("organisation");

export const organisationAnswer = z.object({
  id: z.string(),
  object,
  name: z.string(),
  description: z.string().nullable(),
  default_workspace_id: z.string(),
  ...origin,
});
export const newOrganisationAnswer = z.object({ id: z.string(), object, default_workspace_id: z.string() });
export const changedOrganisationAnswer = z.object({ id: z.string(), object });

export const workspaceAnswer = z.object({
  ...reference("workspace"),
  name: z.string(),
  description: z.string().nullable(),
  organisation_id: z.string(),
  status: z.literal("active"),
  defaults: z.object({ config_id: z.string().nullable(), metadata: z.record(z.string(), z.string()) }),
  ...origin,
});
export const savedWorkspaceAnswer = z.object(reference("workspace"));
