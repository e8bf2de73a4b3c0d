import type { RateLimitPolicy } from "../resources.ts";
import type { PolicyContext } from "./context.ts";
import { policyContext } from "./context.ts";

/** A policy that counts everything, unless said otherwise. */
export function policy(over: Partial<RateLimitPolicy> = {}): RateLimitPolicy {
  return {
    id: "p",
    name: null,
    organisation_id: "org",
    workspace_id: null,
    conditions: [],
    group_by: [],
    type: "requests",
    unit: "rpm",
    value: 5,
    status: "active",
    on_store_loss: "open",
    ...over,
  };
}

/** A chat request of a key to "@main/gpt-4.1". */
export function context(over: { subject?: object; metadata?: Readonly<Record<string, string>>; path?: string } = {}): PolicyContext {
  const subject = { apiKeyId: "key-1", provider: "openai", slug: "main", configId: "pc-chat", promptId: "", model: "gpt-4.1" };
  return policyContext(
    { organisationId: "org", workspaceId: "ws" },
    { ...subject, ...over.subject },
    { path: over.path ?? "/chat/completions", metadata: over.metadata ?? {} },
  );
}
