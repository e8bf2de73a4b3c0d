// Scopes of gateway keys (behaviour 10.4). "*" is all of them; "configs.*" is written for a whole family.

const CRUD = ["create", "read", "update", "delete", "list"];

const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  organisation_users: CRUD,
  organisation_service_api_keys: [...CRUD, "rotate"],
  organisation_settings: ["read", "update"],
  organisation_guardrails: CRUD,
  organisation_exclusions: ["update", "list"],
  organisation_integrations: CRUD,
  organisation_mcp_integrations: CRUD,
  organisation_agent_integrations: CRUD,
  audit_logs: ["list"],
  plugins: ["create", "update", "list"],
  deployments: CRUD,
  secret_references: CRUD,
  workspaces: CRUD,
  workspace_service_api_keys: [...CRUD, "rotate"],
  workspace_user_api_keys: [...CRUD, "rotate"],
  workspace_users: CRUD,
  workspace_integrations: CRUD,
  workspace_mcp_integrations: CRUD,
  workspace_agent_integrations: CRUD,
  prompts: [...CRUD, "publish", "render"],
  configs: CRUD,
  guardrails: [...CRUD, "invoke"],
  virtual_keys: [...CRUD, "duplicate", "copy"],
  providers: CRUD,
  policies: CRUD,
  agent_servers: CRUD,
  mcp_servers: CRUD,
  agents: ["invoke"],
  mcp: ["invoke"],
  analytics: ["view"],
  logs: ["export", "list", "view", "write", "read"],
  completions: ["write"],
  models: ["list"],
};

/** Every scope by name. */
export const SCOPES: readonly string[] = Object.entries(FAMILIES).flatMap(([family, verbs]) => verbs.map((verb) => `${family}.${verb}`));

/** What the first workspace key may do: inference, and reading what became of it. */
export const FIRST_KEY_SCOPES: readonly string[] = [
  "completions.write",
  "models.list",
  "virtual_keys.list",
  "prompts.render",
  "logs.view",
  "logs.list",
  "logs.read",
  "logs.write",
  "logs.export",
  "analytics.view",
];

/** The scopes that a word stands for; null when it is none. */
export function expandScope(word: string): readonly string[] | null {
  if (word === "*") return ["*"];
  if (SCOPES.includes(word)) return [word];
  const family = word.endsWith(".*") ? FAMILIES[word.slice(0, -2)] : undefined;
  return family === undefined ? null : family.map((verb) => `${word.slice(0, -2)}.${verb}`);
}
