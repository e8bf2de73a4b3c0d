import type { PolicyCondition, RateLimit, RateLimitPolicy } from "@unigate/core";
import { expect, test } from "vitest";
import type { PreparedTarget } from "../prepare-target.ts";
import type { Run } from "../run-state.ts";
import { applicableLimits } from "./applicable-limits.ts";

const LIMITS: readonly RateLimit[] = [{ type: "requests", unit: "rpm", value: 1 }];

function policy(key: string, value: string, over: Partial<RateLimitPolicy> = {}): RateLimitPolicy {
  const conditions: PolicyCondition[] = [{ key, value, excludes: false }];
  const place = { organisation_id: "o", workspace_id: null, name: null };
  return {
    id: key,
    ...place,
    conditions,
    group_by: [],
    type: "requests",
    unit: "rpm",
    value: 1,
    status: "active",
    on_store_loss: "open",
    ...over,
  };
}

interface Given {
  readonly ofKey?: readonly RateLimit[];
  readonly ofProvider?: readonly RateLimit[];
  readonly policies?: readonly RateLimitPolicy[];
  readonly isFirst?: boolean;
  readonly withTarget?: boolean;
  readonly method?: string;
  readonly path?: string;
}

/** What policy would be asked of a request to "@main/gpt": nothing, or the scopes. */
async function askedOf(given: Given): Promise<string | null> {
  const {
    ofKey = [],
    ofProvider = [],
    policies = [],
    isFirst = true,
    withTarget = true,
    method = "POST",
    path = "/chat/completions",
  } = given;
  const run = {
    deps: { resolver: { peek: () => ({ value: { rate_limits: policies, usage_limits: [] } }) } },
    request: {
      surface: path === "/chat/completions" ? "chat" : "proxy",
      method,
      path,
      json: {},
      body: null,
      principal: { key: { id: "k", rate_limits: ofKey }, tenant: { organisationId: "o", workspaceId: "w" }, policySet: {} },
    },
    config: { id: "" },
    metadata: { team: "web" },
  } as unknown as Run;
  const target = withTarget ? { provider: { id: "openai" }, slug: "main", resource: { rate_limits: ofProvider } } : null;
  const prepared = { target, shaped: { model: "gpt", stream: false, json: {} } } as unknown as PreparedTarget;
  const limits = await applicableLimits(run, prepared, isFirst);
  if (limits === null) return null;
  const closed = [limits.closed.request?.id, limits.closed.target?.id].filter((id) => id !== undefined);
  return [limits.request ? "request" : "", limits.target ? "target" : "", ...closed].filter((word) => word !== "").join(" ");
}

test.each<[string, Given, string | null]>([
  ["nothing is limited", {}, null],
  ["its key is", { ofKey: LIMITS }, "request"],
  ["its key is, for a further target", { ofKey: LIMITS, isFirst: false }, null],
  ["its provider is", { ofProvider: LIMITS }, "target"],
  ["its provider is, for a further target", { ofProvider: LIMITS, isFirst: false }, "target"],
  ["both are", { ofKey: LIMITS, ofProvider: LIMITS }, "request target"],
  ["both are and there is no target", { ofKey: LIMITS, ofProvider: LIMITS, withTarget: false }, "request"],
  ["a policy matches", { policies: [policy("metadata.team", "web")] }, "request"],
  ["a policy matches, for a further target", { policies: [policy("metadata.team", "web")], isFirst: false }, null],
  ["no policy matches", { policies: [policy("metadata.team", "app"), policy("model", "@other/*")] }, null],
  ["a policy matches its model", { policies: [policy("model", "@main/*")], isFirst: false }, "target"],
  ["a policy about models and no target", { policies: [policy("model", "*")], withTarget: false }, null],
  ["an archived policy would match", { policies: [policy("metadata.team", "web", { status: "archived" })] }, null],
  [
    "closed policies match",
    { policies: [policy("metadata.team", "web", { on_store_loss: "closed" }), policy("model", "@main/gpt", { on_store_loss: "closed" })] },
    "request target metadata.team model",
  ],
  ["a file is looked at", { ofKey: LIMITS, method: "GET", path: "/files/f-1" }, null],
  ["a file is sent", { ofKey: LIMITS, method: "POST", path: "/files" }, "request"],
  ["something like a file is looked at", { ofKey: LIMITS, method: "GET", path: "/filesystem" }, "request"],
])("when %s", async (_case, given, expected) => {
  expect(await askedOf(given)).toBe(expected);
});
