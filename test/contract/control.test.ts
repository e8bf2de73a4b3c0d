import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Change, ControlDefinition, type ControlPort, type Ref } from "@unigate/contracts";
import { createControlService, openControlStore } from "@unigate/control";
import { backgroundCall, CancelToken, systemClock } from "@unigate/core";
import { createSealer, hashOfKey } from "@unigate/secrets";
import { type Connection, runners } from "@unigate/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const sealer = createSealer(randomBytes(32));
const TENANT = { organisationId: "org-default", workspaceId: "ws-default" };
const ref = (kind: string, id: string, more: Partial<Ref> = {}): Ref => ({
  kind,
  id,
  tenant: TENANT,
  keyHash: Buffer.alloc(0),
  version: "",
  ...more,
});
const silent = { info() {}, warn() {}, error() {} };

describe.each(runners)("control over $name", ({ connect }) => {
  let folder: string;
  let store: Awaited<ReturnType<typeof openControlStore>>;
  let connection: Connection<typeof ControlDefinition>;
  let control: ControlPort;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "unigate-contract-"));
    const configFile = join(folder, "unigate.yaml");
    await writeFile(configFile, "version: 1\nproviders: [{ slug: main, provider: openai, api_key: sk-1 }]");
    const deps = {
      catalogue: [{ id: "openai", envKey: null }],
      checkConfig: () => [],
      checks: { ids: [], find: () => null },
      sealer,
      clock: systemClock,
      log: silent,
    };
    store = await openControlStore({ ...deps, configFile, dataDir: folder, environment: {}, watch: { heartbeatMs: 20 } });
    connection = await connect(ControlDefinition, createControlService(store, { ...deps, requestsPerMinute: 0 }));
    control = connection.port;
  });
  afterAll(async () => {
    await store.close();
    await connection.close();
    await rm(folder, { recursive: true });
  });

  test("resolve answers every ref in order, missing ones too", async () => {
    const unknown = ref("config", "pc-none");
    const key = ref("api_key", "", { keyHash: hashOfKey(store.firstKeys.workspace ?? "") });
    const { items } = await control.resolve({ refs: [ref("provider", "main"), unknown, key] }, backgroundCall());
    expect(items.map(({ missing }) => missing)).toEqual([false, true, false]);
    const [provider, missing, principal] = items;
    expect(JSON.parse(provider?.json.toString() ?? "")).toMatchObject({ slug: "main", provider: "openai" });
    expect(provider?.sealed && sealer.open(provider.sealed, "org-default", "provider/main")["api_key"]?.reveal()).toBe("sk-1");
    expect(missing).toMatchObject({ ref: unknown, sealed: undefined, version: "" });
    expect(JSON.parse(principal?.json.toString() ?? "")).toMatchObject({ workspace_id: "ws-default" });
    expect(principal?.sealed).toBeUndefined();
  });

  test("too many refs are a fault", async () => {
    const refs = Array.from({ length: 1_001 }, () => ref("config", "pc-a"));
    await expect(control.resolve({ refs }, backgroundCall())).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("watch greets, beats, tells changes, and ends when cancelled", async () => {
    const cancel = new CancelToken();
    const seen: Change[] = [];
    let published = false;
    const watching = (async () => {
      for await (const change of control.watch({ epoch: "", afterSeq: 0 }, { ...backgroundCall(), cancel })) {
        seen.push(change);
        if (!published) store.hub.publish([ref("config", "pc-a")]);
        published = true;
        if (seen.length === 3) cancel.cancel("peer");
      }
    })();
    await watching.catch((error: unknown) => expect(error).toMatchObject({ code: "CANCELLED" }));
    expect(seen.map(({ what }) => what?.$case)).toEqual(["heartbeat", "changed", "heartbeat"]);
    expect(seen[1]?.what).toEqual({ $case: "changed", value: ref("config", "pc-a") });
    expect(seen[2]?.seq).toBe(seen[1]?.seq);
  });

  test("a watcher of another epoch is told to reset", async () => {
    for await (const change of control.watch({ epoch: "before", afterSeq: 3 }, backgroundCall())) {
      expect(change.what?.$case).toBe("reset");
      break;
    }
  });

  test("the management API saves what Resolve then gives out", async () => {
    const admin = { principalId: "admin", scopes: ["*"], tenant: TENANT };
    const body = Buffer.from(JSON.stringify({ name: "a", config: { provider: "@main" } }));
    const reply = await control.handle({ ...admin, method: "POST", pathAndQuery: "/configs", body }, backgroundCall());
    expect(reply.status).toBe(200);
    const { id } = (JSON.parse(reply.body.toString()) as { data: { id: string } }).data;
    const { items } = await control.resolve({ refs: [ref("config", id)] }, backgroundCall());
    expect(JSON.parse(items[0]?.json.toString() ?? "")).toMatchObject({ id, config: { provider: "@main" } });
  });

  test("what is reserved in the management API is not available", async () => {
    const request = {
      principalId: "admin",
      scopes: ["*"],
      tenant: TENANT,
      method: "GET",
      pathAndQuery: "/prompts",
      body: Buffer.alloc(0),
    };
    const reply = await control.handle(request, backgroundCall());
    expect(reply.status).toBe(404);
    expect(reply.headers).toEqual([{ name: "content-type", value: "application/json" }]);
    expect(JSON.parse(reply.body.toString())).toEqual({
      error: { message: expect.any(String), type: "not_found_error", param: null, code: "not_available" },
    });
  });
});
