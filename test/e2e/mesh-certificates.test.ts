import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { fileURLToPath } from "node:url";
import { ConnectorDefinition, ControlDefinition, InvokeRequest } from "@unigate/contracts";
import { backgroundCall } from "@unigate/core";
import { isRpcError, type MeshCertificates, openChannel, type ServiceDefinition, type ServicePort } from "@unigate/rpc";
import { makeGatewayKey } from "@unigate/secrets";
import {
  certificateSource,
  chatReply,
  createTestAuthority,
  removeFolder,
  requirement,
  startUpstream,
  type Upstream,
  until,
} from "@unigate/testkit";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { QUESTION } from "./http.ts";

const MAIN = fileURLToPath(new URL("../../services/unigate/bin/main.js", import.meta.url));
const START_MS = 60_000;
const HOUR_MS = 3_600_000;
/** What an edge pod of a compact mesh runs. */
const COMPACT = ["edge", "router", "policy", "guardrail", "cache"];

/** What a started process tells of itself, as far as it matters here. */
interface Facts {
  readonly grpcAddress: string;
  readonly metricsPort: number;
  readonly httpPort?: number;
}

interface Member extends Facts {
  output(): string;
  /** Puts certificates where the process has its own. */
  write(certificates: MeshCertificates): void;
}

// Three processes, as in a compact mesh, each with a certificate for the services that it runs.
describe.skipIf(!requirement("long").available)("a mesh with certificates", () => {
  const mesh = createTestAuthority("mesh");
  const key = makeGatewayKey();
  const children: ChildProcess[] = [];
  let folder: string;
  let upstream: Upstream;
  let control: Member;
  let connector: Member;
  let edge: Member;

  async function start(
    targets: readonly string[],
    env: Readonly<Record<string, string>> = {},
    name: string = targets.join("-"),
  ): Promise<Member> {
    const home = join(folder, name);
    const files = { certificate: join(home, "tls.crt"), key: join(home, "tls.key"), authority: join(home, "ca.crt") };
    mkdirSync(home);
    function write(certificates: MeshCertificates): void {
      for (const file of ["certificate", "key", "authority"] as const) writeFileSync(files[file], certificates[file]);
    }
    write(mesh.issueFor(targets));
    const child = fork(MAIN, [`--target=${targets.join(",")}`], {
      env: {
        HOST: "127.0.0.1",
        PORT: "0",
        NODE_ENV: "production",
        UNIGATE_DATA_DIR: join(home, "data"),
        UNIGATE_GRPC_LISTEN: "127.0.0.1:0",
        UNIGATE_METRICS_PORT: "0",
        UNIGATE_MASTER_KEY: "5".repeat(64),
        UNIGATE_EGRESS_ALLOW: "127.0.0.0/8",
        UNIGATE_MESH_CERT: files.certificate,
        UNIGATE_MESH_KEY: files.key,
        UNIGATE_MESH_CA: files.authority,
        ...env,
      },
      execArgv: [],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    children.push(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (piece: Buffer) => (output += piece.toString("utf8")));
    const [facts] = (await Promise.race([
      once(child, "message", { signal: AbortSignal.timeout(START_MS) }),
      once(child, "exit").then(() => Promise.reject(new Error(`${name} ended before it was ready:\n${output}`))),
    ])) as [Facts];
    return { ...facts, output: () => output, write };
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "unigate-mesh-"));
    upstream = await startUpstream();
    upstream.always(() => chatReply("certified"));
    const config = join(folder, "unigate.yaml");
    writeFileSync(config, JSON.stringify({ version: 1, keys: [{ name: "known", key, scopes: ["completions.write"] }] }));
    [control, connector] = await Promise.all([start(["control", "logging"], { UNIGATE_CONFIG: config }), start(["connector"])]);
    edge = await start(COMPACT, addresses());
  });

  const addresses = (): Record<string, string> => ({
    UNIGATE_CONTROL_ADDR: control.grpcAddress,
    UNIGATE_LOGGING_ADDR: control.grpcAddress,
    UNIGATE_CONNECTOR_ADDR: connector.grpcAddress,
  });

  afterAll(async () => {
    for (const child of children.toReversed()) {
      if (child.exitCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await upstream.close();
    removeFolder(folder);
  });

  async function ask({ httpPort }: Member = edge): Promise<string | null> {
    const openAi = new OpenAI({
      baseURL: `http://127.0.0.1:${httpPort}/v1`,
      apiKey: "sk-upstream",
      maxRetries: 0,
      defaultHeaders: { "x-gateway-api-key": key, "x-gateway-provider": "openai", "x-gateway-custom-host": `${upstream.origin}/v1` },
    });
    const completion = await openAi.chat.completions.create({ model: QUESTION.model, messages: [{ role: "user", content: "Hello" }] });
    return completion.choices[0]?.message.content ?? null;
  }

  async function failureOf<D extends ServiceDefinition>(
    definition: D,
    member: Member,
    certificates: MeshCertificates,
    invoke: (port: ServicePort<D>) => Promise<unknown>,
  ): Promise<[string, string]> {
    const service = definition.name.toLowerCase();
    const channel = openChannel({ address: member.grpcAddress, certificates: { source: certificateSource(certificates), service } });
    try {
      await invoke(channel.port(definition));
      throw new Error("the call succeeded");
    } catch (error) {
      if (!isRpcError(error)) throw error;
      return [error.code, error.message];
    } finally {
      channel.close();
    }
  }

  const invoke = (port: ServicePort<ConnectorDefinition>): Promise<unknown> =>
    port.invoke(InvokeRequest.decode(new Uint8Array()), backgroundCall(Date.now() + 10_000));
  const describeApi = (port: ServicePort<ControlDefinition>): Promise<unknown> => port.describe({}, backgroundCall(Date.now() + 10_000));

  async function metricsOf({ metricsPort }: Member): Promise<string> {
    return (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  }

  test("answers a call of the SDK", async () => {
    expect(await ask()).toBe("certified");
    for (const member of [control, connector, edge]) {
      expect(member.output()).not.toContain("refused");
      const expiry = /^unigate_mesh_certificate_expiry_timestamp_seconds (\d+)$/m.exec(await metricsOf(member))?.[1];
      expect(Number(expiry) * 1_000 - Date.now()).toBeGreaterThan(HOUR_MS);
    }
  });

  test("the connector refuses a call with the cache's certificate, logs it once and counts each", async () => {
    const text = "cache may not call Connector.Invoke; edge may.";
    for (let times = 0; times < 3; times += 1)
      expect(await failureOf(ConnectorDefinition, connector, mesh.issueFor(["cache"]), invoke)).toEqual(["PERMISSION_DENIED", text]);
    await until("the log", () => connector.output().includes(text));
    expect(connector.output().split(text)).toHaveLength(2);
    expect(connector.output()).toMatch(/"reason":"caller","address":"127\.0\.0\.1:\d+"/);
    // A channel also asks for a stream that its calls could share.
    const counted = /^unigate_mesh_refused_total\{reason="caller"\} (\d+)$/m.exec(await metricsOf(connector))?.[1];
    expect(Number(counted)).toBeGreaterThanOrEqual(3);
  });

  test("control gives what it resolves to every service, and all else to the edge", async () => {
    expect(await failureOf(ControlDefinition, control, mesh.issueFor(["guardrail"]), describeApi)).toEqual([
      "PERMISSION_DENIED",
      "guardrail may not call Control.Describe; edge may.",
    ]);
  });

  test.each([
    ["expired", () => mesh.issueFor(["edge"], { to: new Date(Date.now() - HOUR_MS / 2) }), "has expired: it was valid to"],
    [
      "foreign",
      () => ({ ...createTestAuthority("stranger").issueFor(["edge"]), authority: mesh.authority }),
      "not one of this mesh's authority",
    ],
  ])("a certificate that is %s is refused and logged", async (_, certificates, text) => {
    const failure = await failureOf(ConnectorDefinition, connector, certificates(), invoke);
    expect(failure).toEqual(["UNAUTHENTICATED", expect.stringContaining(text)]);
    await until("the log", () => connector.output().includes(text));
  });

  test("workers have the certificate of their process, and need none for the socket of their primary", async () => {
    const workers = await start(COMPACT, { ...addresses(), UNIGATE_WORKERS: "2" }, "workers");
    for (let times = 0; times < 6; times += 1) expect(await ask(workers)).toBe("certified");
    expect(workers.output()).not.toContain("refused");
  });

  test("new certificates are taken while calls are made: none fails", async () => {
    let stop = false;
    let answers = 0;
    const caller = (async () => {
      while (!stop) {
        expect(await ask()).toBe("certified");
        answers += 1;
      }
    })();
    const serial = await serialOf(connector);
    connector.write(mesh.issueFor(["connector"]));
    control.write(mesh.issueFor(["control", "logging"]));
    edge.write(mesh.issueFor(COMPACT));
    try {
      for (const member of [control, connector, edge])
        await until("the new certificates", () => member.output().includes("new certificates are in use"));
      expect(await serialOf(connector)).not.toBe(serial);
      const before = answers;
      await until("answers after that", () => answers > before + 3);
    } finally {
      stop = true;
      await caller;
    }
  });

  test("a broken new file is logged, and the old certificate stays in use", async () => {
    const serial = await serialOf(connector);
    connector.write({ ...mesh.issueFor(["connector"]), key: Buffer.from("nothing") });
    await until("the log", () => connector.output().includes("new certificates cannot be used"));
    expect(await serialOf(connector)).toBe(serial);
    expect(await ask()).toBe("certified");
  });

  test("a process whose certificate lacks one of its services does not start, and says so", async () => {
    const failed = start(["router", "cache"], { UNIGATE_MESH_CERT: join(folder, "connector", "tls.crt") });
    await expect(failed).rejects.toThrow(/ended before it was ready/);
    await expect(failed).rejects.toThrow(/unigate: UNIGATE_MESH_(?:KEY|CERT) \(/);
  });

  /** Of the certificate that a server shows to a new connection. */
  async function serialOf({ grpcAddress }: Member): Promise<string> {
    const { certificate: cert, key: ownKey, authority: ca } = mesh.issueFor(["edge"]);
    const port = Number(grpcAddress.split(":").at(-1));
    const socket = connectTls({
      host: "127.0.0.1",
      port,
      cert,
      key: ownKey,
      ca,
      ALPNProtocols: ["h2"],
      checkServerIdentity: () => undefined,
    });
    await once(socket, "secureConnect");
    const serial = socket.getPeerX509Certificate()?.serialNumber ?? "";
    socket.destroy();
    return serial;
  }
});
