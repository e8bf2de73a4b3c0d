import { isObject, type JsonObject } from "@unigate/core";
import { z } from "zod";
import { type DeclaredProvider, providerFields, rateLimits } from "../../declared/grammar.ts";
import { withOwnNames } from "../../declared/own-names.ts";
import { note, notYet, text } from "../fields.ts";

const deployments = z
  .array(z.strictObject({ apiVersion: text, deploymentName: text, alias: text.optional(), is_default: z.boolean().optional() }))
  .max(100);

/** How a provider is reached and what it is paid with, by the names of unigate.yaml. */
const connection = {
  ...providerFields,
  custom_host: z.string().max(2_048).nullable().optional(),
  allow_custom_host: z.boolean().optional(),
};

/** The text of a credential. */
export const credential = z.string().min(1, "expected a text that is not empty").max(20_000);

/** What a virtual key is made with: its own names, or those of unigate.yaml. */
export const virtualKeyFields = {
  ...connection,
  key: credential.optional(),
  apiVersion: text.optional(),
  resourceName: text.optional(),
  deploymentName: text.optional(),
  deploymentConfig: deployments.optional(),
  note: note.optional(),
  rate_limits: rateLimits,
  usage_limits: notYet("usage limits"),
  expires_at: notYet("expiry dates of virtual keys"),
  secret_mappings: notYet("secret references"),
};

/** `configurations` of an integration. */
export const configurations = named(z.strictObject(connection));

/** A schema that also takes the field names of other gateways. */
export function named<Schema extends z.ZodType>(schema: Schema): z.ZodPreprocess<Schema> {
  const described = schema.describe("Taken as well: aws_... for cloud_..., vertex_... for cloudb_..., azure_... for cloudc_...");
  return z.preprocess((value) => (isObject(value) ? withOwnNames(value) : value), described);
}

/** The part of a declared provider that says how it is reached. */
export type Connection = Partial<Omit<DeclaredProvider, "slug" | "provider" | "organisation" | "workspace">>;

interface VirtualKeyNames {
  readonly key?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly resourceName?: string | undefined;
  readonly deploymentName?: string | undefined;
  readonly deploymentConfig?: z.infer<typeof deployments> | undefined;
}

/** What was given, by the names of unigate.yaml. */
export function connectionOf(given: VirtualKeyNames & JsonObject): Connection {
  const own = Object.entries(given).filter(([name, value]) => value !== undefined && Object.hasOwn(connection, name));
  const renamed: [string, unknown][] = [
    ["api_key", given.key],
    ["api_version", given.apiVersion],
    ["resource_name", given.resourceName],
    ["deployment_id", given.deploymentName],
    ["deployments", given.deploymentConfig?.map(deploymentOf)],
    ["custom_host", given["custom_host"] === null ? "" : undefined],
  ];
  return Object.fromEntries([...own, ...renamed.filter(([, value]) => value !== undefined)]);
}

function deploymentOf({ apiVersion, deploymentName, alias = deploymentName, is_default }: z.infer<typeof deployments>[number]): JsonObject {
  return { deployment_id: deploymentName, alias, api_version: apiVersion, ...(is_default === undefined ? {} : { is_default }) };
}
