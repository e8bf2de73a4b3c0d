import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Ref } from "@unigate/contracts";
import { jsonOf, type ProviderListResource } from "@unigate/core";
import { createSealer, hashOfKey, makeGatewayKey } from "@unigate/secrets";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { knownChecks } from "./known-checks.fixture.ts";
import { nextOf, savedRow } from "./saved/saved.fixture.ts";
import type { SavedRow } from "./saved/types.ts";
import { type ControlStore, openControlStore } from "./store.ts";

const sealer = createSealer(Buffer.alloc(32, 3));
const log = { info() {}, warn() {}, error() {} };
let folder: string;
let store: ControlStore;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "unigate-find-"));
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(yaml = "version: 1"): Promise<void> {
  const configFile = join(folder, "unigate.yaml");
  writeFileSync(configFile, yaml);
  store = await openControlStore({
    configFile,
    dataDir: folder,
    environment: {},
    catalogue: [{ id: "mock", envKey: null, keyless: true }],
    checkConfig: () => [],
    checks: knownChecks,
    sealer,
    clock: { now: () => 1 },
    log,
    pollMs: 5,
  });
}
const ref = (kind: string, id: string, organisationId = "org-default", workspaceId = "ws-default"): Ref => ({
  kind,
  id,
  tenant: { organisationId, workspaceId },
  keyHash: Buffer.alloc(0),
  version: "",
});
function found(...where: Parameters<typeof ref>): unknown {
  const item = store.find(ref(...where));
  return item === undefined ? undefined : jsonOf(item.json);
}
const save = (...rows: SavedRow[]) => store.saved.write(rows.map((put) => ({ put })));
const provider = (slug: string, more: Partial<SavedRow> = {}) =>
  savedRow({ kind: "provider", id: `id-${slug}`, slug, resource: { slug, from: "saved" }, ...more });
const slugs = (...tenant: [string?, string?]) =>
  (found("providers", "", ...tenant) as ProviderListResource | undefined)?.providers.map(
    ({ slug, provider: from }) => `${slug} ${from ?? "saved"}`,
  );

describe("declared and saved", () => {
  test("a declared thing wins over a saved one of its slug, wherever its tenant sees it", async () => {
    await open("version: 1\nproviders: [{ slug: both, provider: mock }, { slug: mine, provider: mock, workspace: a }]");
    await save(provider("both"), provider("mine"), provider("only"));
    expect(found("provider", "both")).toMatchObject({ provider: "mock" });
    expect(found("provider", "mine")).toMatchObject({ from: "saved" });
    expect(found("provider", "mine", "org-default", "a")).toMatchObject({ provider: "mock" });
    expect(found("provider", "only")).toMatchObject({ from: "saved" });
    expect(slugs()).toEqual(["both mock", "mine saved", "only saved"]);
    expect(slugs("org-default", "a")).toEqual(["both mock", "mine mock", "only saved"]);
  });

  test("the list of providers is made anew when a saved or a declared one changes, and only then", async () => {
    await open("version: 1\nproviders: [{ slug: d, provider: mock }]");
    await save(provider("s"));
    const before = store.find(ref("providers", ""));
    await save(savedRow({ kind: "config", id: "pc-1" }));
    expect(store.find(ref("providers", ""))).toBe(before);
    await save(provider("t", { workspaceId: "ws-default" }));
    expect(slugs()).toEqual(["d mock", "s saved", "t saved"]);
    expect(slugs("org-default", "other")).toEqual(["d mock", "s saved"]);
    expect(store.find(ref("providers", ""))?.version).not.toBe(before?.version);
    writeFileSync(join(folder, "unigate.yaml"), "version: 1");
    await store.reload();
    expect(slugs()).toEqual(["s saved", "t saved"]);
  });

  test("a provider is not there for workspaces that its integration gives no access, by name, by id and in the list", async () => {
    await open();
    const access = { everyone: null, workspaces: [{ id: "a", enabled: true }] };
    const shared = provider("shared", { details: { workspace_access: access } });
    await save(shared, provider("own", { workspaceId: "b", details: { workspace_access: access } }));
    for (const name of ["shared", "id-shared"]) {
      expect(found("provider", name, "org-default", "a")).toMatchObject({ slug: "shared" });
      expect(found("provider", name, "org-default", "b")).toBeUndefined();
    }
    expect(found("provider", "own", "org-default", "b")).toBeUndefined();
    expect([slugs("org-default", "a"), slugs("org-default", "b")]).toEqual([["shared saved"], []]);
    await save(nextOf(shared, { details: {} }));
    expect(slugs("org-default", "b")).toEqual(["shared saved"]);
  });

  test("an organisation and its workspaces come from what is saved as well", async () => {
    await open();
    expect(found("config", "pc", "acme", "lab")).toBeUndefined();
    const organisation = savedRow({ kind: "organisation", id: "acme", organisationId: "acme", resource: { id: "acme" } });
    await save(provider("p", { organisationId: "acme", id: "p1" }));
    expect(slugs("acme", "lab")).toBeUndefined();
    await save(organisation, savedRow({ kind: "workspace", id: "w-1", slug: "lab", organisationId: "acme", workspaceId: "w-1" }));
    expect(found("organisation", "acme", "acme", "")).toEqual({ id: "acme" });
    expect(found("organisation", "", "acme", "")).toEqual({ id: "acme" });
    for (const name of ["w-1", "lab"]) expect(found("workspace", name, "acme", "")).toEqual({ id: "w-1" });
    expect(found("workspace", "lab")).toBeUndefined();
    expect(slugs("acme", "lab")).toEqual(["p saved"]);
    await store.saved.write([{ remove: organisation }]);
    expect(found("provider", "p", "acme", "lab")).toBeUndefined();
  });

  test("a saved default workspace wins over the one that is always there", async () => {
    await open();
    expect(found("workspace", "ws-default")).toMatchObject({ name: "ws-default" });
    await save(savedRow({ kind: "workspace", id: "ws-default", resource: { name: "Main" } }));
    expect(found("workspace", "ws-default")).toEqual({ name: "Main" });
  });

  test("policies of an organisation are one set", async () => {
    await open();
    expect(found("policy_set", "")).toEqual({ rate_limits: [], usage_limits: [] });
    const one = savedRow({ kind: "rate_limit_policy", id: "one", resource: { id: "one" } });
    await save(one, savedRow({ kind: "rate_limit_policy", id: "two", workspaceId: "lab", resource: { id: "two" }, createdAt: 2 }));
    expect(found("policy_set", "")).toEqual({ rate_limits: [{ id: "one" }, { id: "two" }], usage_limits: [] });
    const before = store.find(ref("policy_set", ""));
    expect(store.find(ref("policy_set", ""))).toBe(before);
    await save(nextOf(one, { resource: { id: "one", value: 2 } }));
    expect(found("policy_set", "")).toMatchObject({ rate_limits: [{ value: 2 }, {}] });
    expect(store.find(ref("policy_set", ""))?.version).not.toBe(before?.version);
    expect(found("policy_set", "", "acme", "")).toBeUndefined();
  });

  test("a key that is declared and one that is saved are found by their hashes; the admin key stays the admin's", async () => {
    const [declared, saved] = [makeGatewayKey(), makeGatewayKey()];
    await open(`version: 1\nkeys: [{ name: d, key: ${declared}, scopes: ['*'] }]`);
    const hash = (text: string) => hashOfKey(text).toString("hex");
    await save(
      savedRow({ id: "key-s", keyHashes: [hash(saved)], resource: { id: "key-s" } }),
      savedRow({ id: "admin", keyHashes: [hash(declared)], resource: { id: "not the admin" } }),
    );
    const byHash = (text: string) => {
      const item = store.find({ ...ref("api_key", ""), keyHash: hashOfKey(text), tenant: undefined });
      return item === undefined ? undefined : jsonOf(item.json);
    };
    expect(byHash(saved)).toEqual({ id: "key-s" });
    expect(byHash(declared)).toMatchObject({ id: "key-d" });
    expect(byHash(makeGatewayKey())).toBeUndefined();
    expect(found("api_key", "admin")).toMatchObject({ scopes: ["*"] });
  });

  test("what is saved is told to watchers, and is there after a restart", async () => {
    await open();
    const before = store.hub.seq();
    await save(provider("p"));
    expect(store.hub.seq()).toBe(before + 3);
    await store.close();
    await open();
    expect(found("provider", "p")).toMatchObject({ from: "saved" });
  });
});
