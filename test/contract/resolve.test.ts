import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ControlDefinition } from "@unigate/contracts";
import { createControlService, openControlStore } from "@unigate/control";
import { type ApiKeyResource, backgroundCall, GatewayError, type ProviderResource, systemClock } from "@unigate/core";
import { createResolver, type Resolver, type ResourceRef } from "@unigate/resolve";
import { createSealer, hashOfKey, makeGatewayKey } from "@unigate/secrets";
import { type Connection, runners } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

const sealer = createSealer(randomBytes(32));
const TENANT = { organisationId: "org-default", workspaceId: "ws-default" };
const call = backgroundCall();
const KEY = makeGatewayKey();
const keyRef: ResourceRef = { kind: "api_key", id: "", tenant: { organisationId: "", workspaceId: "" }, keyHash: hashOfKey(KEY) };
const provider: ResourceRef = { kind: "provider", id: "main", tenant: TENANT };

describe.each(runners)("resolver and control over $name", ({ connect }) => {
  let folder: string;
  let file: string;
  let store: Awaited<ReturnType<typeof openControlStore>>;
  let connection: Connection<typeof ControlDefinition>;
  let resolver: Resolver;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "unigate-contract-"));
    file = join(folder, "unigate.yaml");
    await writeFile(file, yaml("one", true));
    const deps = {
      catalogue: [{ id: "openai", envKey: null }],
      checkConfig: () => [],
      checks: { ids: [], find: () => null },
      sealer,
      clock: systemClock,
      log: { info() {}, warn() {}, error() {} },
    };
    store = await openControlStore({ ...deps, configFile: file, dataDir: folder, environment: {}, pollMs: 20 });
    connection = await connect(ControlDefinition, createControlService(store, { ...deps, requestsPerMinute: 0 }));
    resolver = createResolver({ control: connection.port, clock: systemClock, limits: { identityMaxStaleMs: 0 } });
    resolver.start();
    await resolver.ready;
  });
  afterEach(async () => {
    await resolver.stop();
    await store.close();
    await connection.close();
    await rm(folder, { recursive: true });
  });

  const yaml = (apiKey: string, withKey: boolean) =>
    `version: 1\nproviders: [{ slug: main, provider: openai, api_key: ${apiKey} }]\nkeys: [${withKey ? `{ name: web, key: ${KEY}, scopes: ["*"] }` : ""}]`;

  async function apiKeyOf(): Promise<string | undefined> {
    const found = await resolver.resolve<ProviderResource>(provider, call);
    return found?.sealed && sealer.open(found.sealed, "org-default", "provider/main")["api_key"]?.reveal();
  }

  test("a key is found by its hash, a provider with its sealed credential, and nothing unknown", async () => {
    expect((await resolver.resolve<ApiKeyResource>(keyRef, call))?.value).toMatchObject({ id: "key-web", scopes: ["*"] });
    expect(await apiKeyOf()).toBe("one");
    expect(resolver.peek(provider)).toBe(await resolver.resolve(provider, call));
    expect(await resolver.resolve({ ...provider, id: "other" }, call)).toBeNull();
    expect(await resolver.resolve({ ...provider, tenant: { organisationId: "acme", workspaceId: "ws-default" } }, call)).toBeNull();
  });

  test("an edit of the file reaches the next use: a new secret, and a key taken away", async () => {
    expect(await apiKeyOf()).toBe("one");
    expect(await resolver.resolve(keyRef, call)).not.toBeNull();
    await writeFile(file, yaml("two", false));
    await vi.waitFor(async () => expect(await apiKeyOf()).toBe("two"), { timeout: 5_000 });
    await vi.waitFor(async () => expect(await resolver.resolve(keyRef, call)).toBeNull(), { timeout: 5_000 });
  });

  test("a control that is gone is noticed at once, and a hard age of 0 then refuses keys", async () => {
    expect(await resolver.resolve(keyRef, call)).not.toBeNull();
    const broken = createResolver({
      control: {
        resolve: () => Promise.reject(new Error("gone")),
        watch: connection.port.watch,
      },
      clock: systemClock,
      limits: { identityMaxStaleMs: 0 },
    });
    const reason = await broken.resolve(keyRef, call).catch((error: unknown) => error);
    expect(reason).toBeInstanceOf(GatewayError);
    expect(reason).toMatchObject({ code: "identity_unavailable", status: 503 });
    store.hub.close();
    await vi.waitFor(() => expect(resolver.stats().blind).toBe(true), { timeout: 5_000 });
    expect(resolver.peek(keyRef)).toBeUndefined();
  });
});
