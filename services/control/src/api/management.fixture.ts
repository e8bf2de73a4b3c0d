import type { AdminReply } from "@unigate/contracts";
import { type ApiKeyResource, compileConfig, type JsonObject } from "@unigate/core";
import { createSealer } from "@unigate/secrets";
import { expect } from "vitest";
import { declaredConfigs } from "../configs.ts";
import { declaredGuardrails } from "../guardrails.ts";
import type { Draft } from "../item.ts";
import { declaredKeys, keyDraft } from "../keys.ts";
import { knownChecks } from "../known-checks.fixture.ts";
import { declaredProviders } from "../providers.ts";
import { makeSnapshot } from "../snapshot.ts";
import type { ApiDeps } from "./asked.ts";
import { createManagementApi } from "./management-api.ts";
import { matchRoute } from "./match-route.ts";
import { readPath } from "./read-request.ts";
import { apiRoutes } from "./routes.ts";
import { createMemorySaved, type MemorySaved } from "./saved-in-memory.fixture.ts";

export const NOW = Date.parse("2030-01-01T00:00:00Z");

/** Whose key a request of a test is sent with. */
export interface TestCaller {
  readonly id: string;
  readonly organisationId?: string;
  readonly workspaceId?: string | null;
}
export const ADMIN: TestCaller = { id: "admin" };

/** An answer, read. */
export interface TestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly json: JsonObject;
  readonly error: { readonly code: string; readonly param: string | null; readonly message: string };
}

export interface TestApi {
  readonly saved: MemorySaved;
  readonly deps: ApiDeps;
  /** What was told to be failed. */
  readonly failures: unknown[];
  /** All answers so far. */
  readonly answers: string[];
  now: number;
  ask(method: string, path: string, body?: object | string, caller?: TestCaller): Promise<TestAnswer>;
  /** A saved key with these scopes, made beside the API. */
  key(scopes: readonly string[], more?: Partial<ApiKeyResource>): Promise<TestCaller>;
}

const CATALOGUE = [
  { id: "openai", envKey: "OPENAI_API_KEY", models: ["gpt-a", "gpt-b"] },
  { id: "azure-openai", envKey: null },
  { id: "bedrock", envKey: null },
  { id: "mock", envKey: null, keyless: true },
];

const MAIN = { slug: "main", provider: "openai", api_key: "sk-declared" };

/** A key as it is saved. */
function keyResource(id: string, scopes: readonly string[], more: Partial<ApiKeyResource>): ApiKeyResource {
  return {
    id,
    name: id,
    type: "workspace-service",
    organisation_id: "org-default",
    workspace_id: "ws-default",
    scopes,
    expires_at: null,
    defaults: { config_id: null, metadata: {}, allow_config_override: true },
    rate_limits: [],
    allowed_models: null,
    allowed_providers: null,
    key_sha256: Buffer.from(id).toString("hex").padEnd(64, "0").slice(0, 64),
    ...more,
  };
}

/** The management API over things in memory, with one declared thing of each kind. */
export function createTestApi({ requestsPerMinute = 0 } = {}): TestApi {
  const sealer = createSealer(Buffer.alloc(32, 7));
  const saved = createMemorySaved();
  const failures: unknown[] = [];
  const answers: string[] = [];
  const admin = keyResource("admin", ["*"], { type: "organisation-service", workspace_id: null });
  const declared: Draft[] = [
    ...declaredProviders([MAIN], CATALOGUE, sealer).drafts,
    ...declaredConfigs([{ id: "pc-main", config: { provider: "@main" } }], () => [], sealer).drafts,
    ...declaredKeys([{ name: "web", key_sha256: "ab".repeat(32), scopes: ["completions.write"] }], []).drafts,
    ...declaredGuardrails([{ id: "pg-main", checks: [{ id: "default.contains", parameters: { words: ["a"] } }] }], knownChecks, sealer),
    ...declaredProviders([{ slug: "far", provider: "mock", organisation: "org-far", workspace: "ws-far" }], CATALOGUE, sealer).drafts,
  ].map((draft) => ({ ...draft, source: "unigate.yaml" }));
  const snapshot = makeSnapshot([{ ...keyDraft(admin), source: "keys.json" }, ...declared], null, sealer);
  const deps: ApiDeps = {
    saved,
    sealer,
    catalogue: CATALOGUE,
    checks: knownChecks,
    snapshot: () => snapshot,
    checkConfig(config) {
      const result = compileConfig(config, "saved");
      return result.ok ? [] : result.problems;
    },
    clock: { now: () => api.now },
  };
  const handle = createManagementApi({ ...deps, requestsPerMinute }, (cause) => failures.push(cause));
  let keys = 0;
  const api: TestApi = {
    saved,
    deps,
    failures,
    answers,
    now: NOW,
    async ask(method, path, body, { id, organisationId = "org-default", workspaceId = null } = ADMIN) {
      const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
      const reply = await handle({
        principalId: id,
        scopes: [],
        method,
        pathAndQuery: path,
        body: Buffer.from(text),
        tenant: { organisationId, workspaceId: workspaceId ?? "ws-default" },
      });
      answers.push(JSON.stringify(reply.headers) + reply.body.toString());
      const answer = answerOf(reply);
      if (answer.status === 200) expectDescribed(method, path, answer.json);
      return answer;
    },
    async key(scopes, more = {}) {
      keys += 1;
      const resource = keyResource(`key-test-${keys}`, scopes, more);
      await saved.write([
        {
          put: {
            kind: "api_key",
            id: resource.id,
            slug: resource.id,
            organisationId: resource.organisation_id,
            workspaceId: resource.workspace_id,
            version: 1,
            createdAt: NOW,
            updatedAt: NOW,
            resource: { ...resource },
            details: {},
            sealed: null,
            keyHashes: [resource.key_sha256],
          },
        },
      ]);
      return { id: resource.id, organisationId: resource.organisation_id, workspaceId: resource.workspace_id };
    },
  };
  return api;
}

/** Every answer says what its contract says, and nothing more. */
function expectDescribed(method: string, path: string, json: JsonObject): void {
  const matched = matchRoute(apiRoutes, method, readPath(path).segments);
  if (matched.kind === "found") expect(matched.route.endpoint.contract.answer.parse(json)).toEqual(json);
  else throw new Error(`${method} ${path} was answered by no route`);
}

function answerOf({ status, headers, body }: AdminReply): TestAnswer {
  const text = body.toString();
  const json = JSON.parse(text) as JsonObject;
  return {
    status,
    text,
    json,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    error: (json["error"] ?? { code: "", param: null, message: "" }) as TestAnswer["error"],
  };
}
