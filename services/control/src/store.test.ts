import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Ref } from "@unigate/contracts";
import {
  type ApiKeyResource,
  CancelToken,
  type ConfigResource,
  compileConfig,
  jsonOf,
  type ProviderListResource,
  type ProviderResource,
} from "@unigate/core";
import { createSealer, hashOfKey, looksLikeGatewayKey, makeGatewayKey, sealedFromText } from "@unigate/secrets";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { knownChecks } from "./known-checks.fixture.ts";
import { type ControlDeps, type ControlStore, openControlStore } from "./store.ts";

const TENANT = { organisationId: "org-default", workspaceId: "ws-default" };
const sealer = createSealer(randomBytes(32));
const NO_HASH = Buffer.alloc(0);
let folder: string;
let file: string;
let store: ControlStore | null = null;
const lines: string[] = [];
const record = (fields: object, text: string) => void lines.push(`${text} ${JSON.stringify(fields)}`);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "unigate-control-"));
  file = join(folder, "unigate.yaml");
  lines.length = 0;
});
afterEach(async () => {
  await store?.close();
  store = null;
  await rm(folder, { recursive: true });
});

async function open(yaml: string | null, more: Partial<ControlDeps> = {}): Promise<ControlStore> {
  if (yaml !== null) await writeFile(file, yaml);
  await store?.close();
  store = await openControlStore({
    configFile: yaml === null ? null : file,
    dataDir: join(folder, "data"),
    environment: {},
    catalogue: [
      { id: "openai", envKey: "OPENAI_API_KEY" },
      { id: "anthropic", envKey: "ANTHROPIC_API_KEY" },
      { id: "mock", envKey: null, keyless: true },
    ],
    checkConfig: (config) => {
      const result = compileConfig(config, "saved");
      return result.ok ? [] : result.problems;
    },
    checks: knownChecks,
    sealer,
    clock: { now: () => 1 },
    log: { info: record, warn: record, error: record } as ControlDeps["log"],
    pollMs: 5,
    ...more,
  });
  return store;
}

const ref = (kind: string, id: string, more: Partial<Ref> = {}): Ref => ({
  kind,
  id,
  tenant: TENANT,
  keyHash: NO_HASH,
  version: "",
  ...more,
});
const found = (which: Ref) => store?.find(which);
function jsonFor(which: Ref): unknown {
  const item = found(which);
  return item === undefined ? undefined : jsonOf(item.json);
}
const providerFor = (which: Ref) => jsonFor(which) as ProviderResource | undefined;
const providersFor = (which: Ref) => (jsonFor(which) as ProviderListResource | undefined)?.providers;
const keyFor = (which: Ref) => jsonFor(which) as ApiKeyResource | undefined;
const configFor = (which: Ref) => jsonFor(which) as ConfigResource | undefined;
const keyRef = (text: string): Ref => ref("api_key", "", { keyHash: hashOfKey(text), tenant: undefined });
const reveal = (sealed: Parameters<typeof sealer.open>[0], place: string, organisation = "org-default") =>
  Object.fromEntries(Object.entries(sealer.open(sealed, organisation, place)).map(([name, secret]) => [name, secret.reveal()]));

describe("first start", () => {
  test("makes an admin key and a workspace key, shows both once and keeps hashes only", async () => {
    const { firstKeys } = await open(null);
    const { admin = "", workspace = "" } = firstKeys;
    expect([admin, workspace].map(looksLikeGatewayKey)).toEqual([true, true]);
    expect(keyFor(keyRef(admin))).toMatchObject({
      id: "admin",
      type: "organisation-service",
      workspace_id: null,
      scopes: ["*"],
    });
    expect(keyFor(keyRef(workspace))).toMatchObject({
      type: "workspace-service",
      workspace_id: "ws-default",
      organisation_id: "org-default",
    });
    expect(keyFor(ref("api_key", "admin", { tenant: undefined }))?.key_sha256).toBe(hashOfKey(admin).toString("hex"));
    const kept = join(folder, "data", "keys.json");
    expect((await stat(kept)).mode & 0o777).toBe(0o600);
    const text = await readFile(kept, "utf8");
    for (const key of [admin, workspace]) expect(text).not.toContain(key.slice(0, 12));

    const again = await open(null);
    expect(again.firstKeys).toEqual({});
    for (const key of [admin, workspace]) expect(found(keyRef(key))).toBeDefined();
    expect(found(keyRef(makeGatewayKey()))).toBeUndefined();
  });

  test("UNIGATE_ADMIN_KEY is the admin key, is not stored, and takes the place of a made one", async () => {
    const made = await open(null);
    const other = await open(null, { environment: { UNIGATE_ADMIN_KEY: "chosen" } });
    expect(other.firstKeys).toEqual({});
    expect(keyFor(keyRef("chosen"))).toMatchObject({ id: "admin", scopes: ["*"] });
    expect(found(keyRef(made.firstKeys.admin ?? ""))).toBeUndefined();
    expect(await readFile(join(folder, "data", "keys.json"), "utf8")).not.toContain(hashOfKey("chosen").toString("hex"));
    expect(lines.join()).toContain("UNIGATE_ADMIN_KEY is short");
    await rm(join(folder, "data"), { recursive: true });
    const fresh = await open(null, { environment: { UNIGATE_ADMIN_KEY: "chosen" } });
    expect(Object.keys(fresh.firstKeys)).toEqual(["workspace"]);
  });

  test("a damaged keys.json stops the start and stays", async () => {
    await open(null);
    const kept = join(folder, "data", "keys.json");
    await writeFile(kept, "{");
    await expect(open(null)).rejects.toThrow("is damaged; restore it from a backup");
    expect(await readFile(kept, "utf8")).toBe("{");
  });

  test("the default tenant exists", async () => {
    await open(null);
    expect(jsonFor(ref("organisation", "org-default"))).toMatchObject({ default_workspace_id: "ws-default" });
    expect(jsonFor(ref("workspace", "ws-default"))).toMatchObject({ organisation_id: "org-default" });
    expect(jsonFor(ref("policy_set", ""))).toEqual({ rate_limits: [], usage_limits: [] });
    expect(found(ref("policy_set", "org-other"))).toBeUndefined();
    expect(found(ref("organisation", "org-other", { tenant: { organisationId: "org-other", workspaceId: "" } }))).toBeUndefined();
  });
});

describe("providers", () => {
  const environment = { OPENAI_API_KEY: "sk-from-env", ANTHROPIC_API_KEY: "", MAIN: "sk-main" };

  test("keys in the environment register providers, sealed", async () => {
    await open(null, { environment });
    const item = found(ref("provider", "openai"));
    expect(item?.json.toString()).not.toContain("sk-from-env");
    expect(item?.sealed && reveal(item.sealed, "provider/openai")).toEqual({ api_key: "sk-from-env" });
    expect(found(ref("provider", "anthropic"))).toBeUndefined();
    expect(providersFor(ref("providers", ""))?.map(({ slug }) => slug)).toEqual(["openai"]);
  });

  test("a declared provider wins over one of the environment, and its fields are parted into settings and credentials", async () => {
    await open(
      "version: 1\nproviders: [{ slug: openai, provider: openai, api_key: '${MAIN}', aws_secret_access_key: x, aws_region: eu-1, provider_project: p, custom_host: '' }]",
      { environment },
    );
    const item = found(ref("provider", "openai"));
    expect(item?.sealed && reveal(item.sealed, "provider/openai")).toEqual({ api_key: "sk-main", cloud_secret_access_key: "x" });
    expect(providerFor(ref("provider", "openai"))).toEqual({
      slug: "openai",
      provider: "openai",
      organisation_id: "org-default",
      workspace_id: null,
      settings: { cloud_region: "eu-1", provider_project: "p" },
      custom_host: null,
      allow_custom_host: false,
      rate_limits: [],
    });
  });

  test("walls: a workspace's own thing is seen there only and wins there; another organisation sees nothing", async () => {
    await open(`version: 1
providers:
  - { slug: m, provider: mock }
  - { slug: m, provider: openai, api_key: k, workspace: a }
  - { slug: only-a, provider: mock, workspace: a }
  - { slug: only-acme, provider: mock, organisation: acme }`);
    const from = (organisationId: string, workspaceId: string) => ({ tenant: { organisationId, workspaceId } });
    const seen = (organisationId: string, workspaceId: string) =>
      providersFor(ref("providers", "", from(organisationId, workspaceId)))?.map(({ slug, provider }) => `${slug} ${provider}`);
    expect(seen("org-default", "a")).toEqual(["m openai", "only-a mock"]);
    expect(seen("org-default", "ws-default")).toEqual(["m mock"]);
    expect(seen("org-default", "")).toEqual(["m mock"]);
    expect(seen("acme", "a")).toEqual(["only-acme mock"]);
    expect(seen("nobody", "a")).toBeUndefined();
    expect(found(ref("provider", "only-a"))).toBeUndefined();
    expect(found(ref("provider", "only-acme"))).toBeUndefined();
    expect(found(ref("provider", "m", { tenant: undefined }))).toBeUndefined();
    expect(providerFor(ref("provider", "m", from("org-default", "a")))?.provider).toBe("openai");
  });
});

describe("configs", () => {
  test("credentials of every node are sealed for their own place", async () => {
    await open(`version: 1
configs:
  - id: pc-a
    config:
      strategy: { mode: fallback }
      targets:
        - { provider: openai, api_key: one }
        - strategy: { mode: loadbalance }
          targets:
            - { provider: mock }
            - { provider: anthropic, api_key: two, aws_session_token: three }
        - { provider: openai, vertex_region: eu, vertex_service_account_json: { private_key: four } }`);
    const item = found(ref("config", "pc-a"));
    const text = item?.json.toString() ?? "";
    for (const secret of ["one", "two", "three", "four", "api_key", "vertex_"]) expect(text).not.toContain(secret);
    const { config, version } = configFor(ref("config", "pc-a")) ?? { config: {}, version: "" };
    expect(version).toBe(item?.version);
    const targets = (config as { targets: { sealed_credentials: string; targets: { sealed_credentials: string }[] }[] }).targets;
    const opened = (sealed: string | undefined, path: string) => reveal(sealedFromText(sealed ?? ""), `pc-a/${path}`);
    expect(opened(targets[0]?.sealed_credentials, "config.targets[0]")).toEqual({ api_key: "one" });
    expect(opened(targets[1]?.targets[1]?.sealed_credentials, "config.targets[1].targets[1]")).toEqual({
      api_key: "two",
      cloud_session_token: "three",
    });
    expect(opened(targets[2]?.sealed_credentials, "config.targets[2]")).toEqual({ cloudb_service_account_json: '{"private_key":"four"}' });
    expect(() => opened(targets[0]?.sealed_credentials, "config.targets[1]")).toThrow("another organisation or resource");
    expect(targets[1]).not.toHaveProperty("sealed_credentials");
  });
});

describe("keys and guardrails", () => {
  test("a declared key is found by its hash, with its defaults filled in", async () => {
    const key = makeGatewayKey();
    await open(
      "version: 1\nconfigs: [{ id: pc-a, config: { provider: mock } }]\nkeys: [{ name: Web App, key: '${K}', scopes: [logs.view, 'mcp.*'], defaults: { config_id: pc-a, metadata: { team: web } }, expires_at: 2030-01-01T00:00:00Z }]",
      { environment: { K: key } },
    );
    expect(keyFor(keyRef(key))).toEqual({
      id: "key-web-app",
      name: "Web App",
      type: "workspace-service",
      organisation_id: "org-default",
      workspace_id: "ws-default",
      scopes: ["logs.view", "mcp.invoke"],
      expires_at: Date.UTC(2030, 0, 1),
      defaults: { config_id: "pc-a", metadata: { team: "web" }, allow_config_override: true },
      rate_limits: [],
      allowed_models: null,
      allowed_providers: null,
      key_sha256: hashOfKey(key).toString("hex"),
    });
    expect(found(ref("api_key", "key-web-app"))).toBe(found(keyRef(key)));
    expect(found(ref("api_key", "key-web-app", { tenant: { organisationId: "acme", workspaceId: "" } }))).toBeUndefined();
  });

  test("a key's workspace and organisation exist because it names them", async () => {
    await open(`version: 1\nkeys: [{ name: w, key: ${makeGatewayKey()}, scopes: ['*'], organisation: acme, workspace: lab }]`);
    expect(jsonFor(ref("workspace", "lab", { tenant: { organisationId: "acme", workspaceId: "lab" } }))).toMatchObject({
      organisation_id: "acme",
    });
    expect(found(ref("workspace", "lab"))).toBeUndefined();
  });

  test("a declared guardrail is found", async () => {
    await open(
      "version: 1\nguardrails: [{ id: g, checks: [{ id: default.wordCount, parameters: { maxWords: 5 } }], actions: { deny: true } }]",
    );
    expect(jsonFor(ref("guardrail", "g"))).toEqual({
      id: "g",
      name: "g",
      organisation_id: "org-default",
      workspace_id: null,
      checks: [{ id: "default.wordCount", parameters: { maxWords: 5 }, is_enabled: true }],
      actions: { deny: true },
    });
  });
});

describe("reload", () => {
  const yaml = (provider: string) => `version: 1\nproviders: [{ slug: a, provider: ${provider}, api_key: x }, { slug: b, provider: mock }]`;

  async function changesOf(run: () => Promise<unknown>): Promise<string[]> {
    const cancel = new CancelToken();
    const seen: string[] = [];
    let last = -1;
    const watching = (async () => {
      for await (const { seq, what } of store!.hub.watch({ epoch: "", afterSeq: 0 }, cancel)) {
        last = seq;
        if (what?.$case === "changed")
          seen.push(`${what.value.kind} ${what.value.tenant?.organisationId}/${what.value.tenant?.workspaceId} ${what.value.id}`);
      }
    })();
    await run();
    await vi.waitFor(() => expect(last).toBe(store!.hub.seq()));
    cancel.cancel("shutdown");
    await watching;
    return seen;
  }

  test("publishes what changed and nothing else, and keeps unchanged items as they are", async () => {
    await open(yaml("openai"));
    const b = found(ref("provider", "b"));
    expect(await changesOf(() => store!.reload())).toEqual([]);
    const changes = await changesOf(async () => {
      await writeFile(file, yaml("anthropic"));
      await store!.reload();
    });
    expect(changes).toEqual(["provider org-default/ a", "providers org-default/ "]);
    expect(found(ref("provider", "b"))).toBe(b);
    expect(providerFor(ref("provider", "a"))?.provider).toBe("anthropic");
    expect(
      await changesOf(async () => {
        await writeFile(file, "version: 1");
        await store!.reload();
      }),
    ).toEqual(["provider org-default/ a", "provider org-default/ b", "providers org-default/ "]);
    expect(found(ref("provider", "a"))).toBeUndefined();
  });

  test("a new secret is a change, though nothing else of the thing changed", async () => {
    const environment: Record<string, string> = { K: "one" };
    await open("version: 1\nproviders: [{ slug: a, provider: openai, api_key: '${K}' }]", { environment });
    const before = found(ref("provider", "a"));
    environment["K"] = "two";
    await store!.reload();
    const after = found(ref("provider", "a"));
    expect(after?.version).not.toBe(before?.version);
    expect(after?.sealed && reveal(after.sealed, "provider/a")).toEqual({ api_key: "two" });
  });

  test("the policies of an organisation are one set, which changes with any of them", async () => {
    const yaml = (value: number) => `version: 1
policies:
  rate_limits:
    - { id: teams, name: Teams, group_by: [{ key: metadata.team }], type: requests, unit: rph, value: ${value}, on_store_loss: closed }
    - { id: slow, conditions: [{ key: model, value: "@openai/*" }], type: concurrency, value: 2, workspace: w, status: archived }
    - { id: other, type: tokens, unit: rpd, value: 1, organisation: acme }`;
    await open(yaml(5));
    const set = found(ref("policy_set", "org-default"));
    const teams = {
      id: "teams",
      name: "Teams",
      organisation_id: "org-default",
      workspace_id: null,
      conditions: [],
      on_store_loss: "closed",
    };
    expect(jsonFor(ref("policy_set", "org-default"))).toEqual({
      rate_limits: [
        { ...teams, group_by: [{ key: "metadata.team" }], type: "requests", unit: "rph", value: 5, status: "active" },
        {
          id: "slow",
          name: null,
          organisation_id: "org-default",
          workspace_id: "w",
          conditions: [{ key: "model", value: "@openai/*", excludes: false }],
          group_by: [],
          type: "concurrency",
          unit: null,
          value: 2,
          status: "archived",
          on_store_loss: "open",
        },
      ],
      usage_limits: [],
    });
    const changes = await changesOf(async () => {
      await writeFile(file, yaml(6));
      await store!.reload();
    });
    expect(changes).toEqual(["rate_limit_policy org-default/ teams", "policy_set org-default/ org-default"]);
    expect(found(ref("policy_set", "org-default"))?.version).not.toBe(set?.version);
  });

  test("a key that got another text is told by both hashes", async () => {
    const [one, two] = [makeGatewayKey(), makeGatewayKey()];
    const environment: Record<string, string> = { K: one };
    await open("version: 1\nkeys: [{ name: a, key: '${K}', scopes: ['*'] }]", { environment });
    const seen: string[] = [];
    const publish = vi.spyOn(store!.hub, "publish");
    environment["K"] = two;
    await store!.reload();
    for (const change of publish.mock.calls[0]?.[0] ?? []) seen.push(change.keyHash.toString("hex"));
    expect(seen.sort()).toEqual([hashOfKey(one), hashOfKey(two)].map((hash) => hash.toString("hex")).sort());
    expect(found(keyRef(one))).toBeUndefined();
    expect(found(keyRef(two))).toBeDefined();
  });

  test("a bad edit is logged with every problem, and the last good version stays", async () => {
    await open(yaml("openai"));
    await writeFile(file, "version: 1\nproviders: [{ slug: a, provider: openia, api_key: x }]");
    expect(await store!.reload()).toBe(false);
    expect(lines.join()).toContain(`${file}:2: providers[0].provider`);
    expect(providerFor(ref("provider", "a"))?.provider).toBe("openai");
    await rm(file);
    expect(await store!.reload()).toBe(false);
    expect(found(ref("provider", "a"))).toBeDefined();
  });

  test("a bad file stops the start", async () => {
    await expect(open("version: 2")).rejects.toThrow(`${file}:1: version: expected 1`);
  });

  test.each([
    ["written over", (text: string) => writeFile(file, text)],
    [
      "renamed into place",
      async (text: string) => {
        await writeFile(`${file}.new`, text);
        await rename(`${file}.new`, file);
      },
    ],
  ])("a file %s is noticed", async (_case, edit) => {
    await open(yaml("openai"));
    await edit(yaml("anthropic"));
    await vi.waitFor(() => expect(providerFor(ref("provider", "a"))?.provider).toBe("anthropic"), { timeout: 5_000 });
  });
});

test("the example loads", async () => {
  const example = await readFile(new URL("../unigate.example.yaml", import.meta.url), "utf8");
  await open(example, { environment: { OPENAI_API_KEY: "a", ANTHROPIC_API_KEY: "b", WEB_KEY: makeGatewayKey() } });
  expect(store?.snapshot().items.length).toBeGreaterThan(8);
});
