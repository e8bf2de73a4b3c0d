/** What conditions and groups of a policy may look at, beside "metadata.<name>" (behaviour 10.2). */
export const POLICY_KEYS = [
  "api_key",
  "organisation_id",
  "workspace_id",
  "virtual_key",
  "provider",
  "config",
  "prompt",
  "model",
  "endpoint_type",
] as const;

export type PolicyKey = (typeof POLICY_KEYS)[number];

export const METADATA_PREFIX = "metadata.";

/** Whether a condition or a group may name this. */
export function isPolicyKey(key: string): boolean {
  return (POLICY_KEYS as readonly string[]).includes(key) || (key.startsWith(METADATA_PREFIX) && key.length > METADATA_PREFIX.length);
}
