import { mkdtempSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { Secret } from "@unigate/core";
import {
  type CallerTable,
  type ChannelOptions,
  callerCheck,
  type GrpcServer,
  type MeshCertificates,
  meshToken,
  openChannel,
  type Refused,
  type RpcChannel,
  type ServeOptions,
  serveGrpc,
} from "@unigate/rpc";
import { certificateSource, createTestAuthority, removeFolder, until } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  batch,
  batches,
  collect,
  deferred,
  EchoDefinition,
  type EchoPort,
  echo,
  never,
  newCall,
  rpcErrorOf,
  times,
} from "./echo-service.ts";
import { HealthDefinition } from "./health-definition.ts";

const mesh = createTestAuthority();
const HOUR_MS = 3_600_000;
const past = { from: new Date(Date.now() - 3 * HOUR_MS), to: new Date(Date.now() - HOUR_MS) };

/** Edge may call everything of echo but uploads, which cache may. */
const table: CallerTable = { echo: { "/unigate.test.v1.Echo/": ["edge"], "/unigate.test.v1.Echo/Upload": ["cache"] } };

const cleanups: (() => unknown)[] = [];
let refusals: Refused[] = [];

beforeEach(() => {
  refusals = [];
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function serve(certificates = mesh.issueFor(["echo"]), options: Partial<ServeOptions> & { echo?: Partial<EchoPort> } = {}) {
  const source = certificateSource(certificates);
  const server = await serveGrpc({
    listen: "127.0.0.1:0",
    services: [{ definition: EchoDefinition, implementation: { ...echo, ...options.echo } }],
    certificates: source,
    authenticate: callerCheck(table),
    onRefused: (refused) => refusals.push(refused),
    ...options,
  });
  cleanups.push(() => server.drain(0));
  return { server, source };
}

/** Each call by itself, unless said otherwise: a stream to be shared is asked for besides, and refused as well. */
function open({ address }: GrpcServer, certificates: MeshCertificates | null, options: Partial<ChannelOptions> = {}) {
  const source = certificates === null ? null : certificateSource(certificates);
  const channel = openChannel({
    address,
    shareStreams: false,
    ...(source === null ? {} : { certificates: { source, service: "echo" } }),
    ...options,
  });
  cleanups.push(() => channel.close());
  return { channel, source, port: channel.port(EchoDefinition) };
}

async function failureOver(channel: { port: EchoPort }): Promise<[string, string]> {
  const { code, message } = await rpcErrorOf(channel.port.unary(batch(1), newCall()));
  return [code, message];
}

describe("who is let in", () => {
  test("the table's caller, by every kind of call that it may make", async () => {
    const { server } = await serve();
    const { port, channel } = open(server, mesh.issueFor(["edge"]));
    expect(await port.unary(batch(1), newCall())).toEqual(batch(1));
    expect(await collect(port.list(times(2), newCall()))).toHaveLength(2);
    expect(await collect(port.chat(batches(2), newCall()))).toHaveLength(2);
    expect((await channel.port(HealthDefinition).check({ service: "" }, newCall())).status).toBe("NOT_SERVING");
    expect(refusals).toEqual([]);
  });

  test("another caller is refused by name and method, before any handler runs, and told to the server", async () => {
    const upload = vi.fn(echo.upload);
    const { server } = await serve(undefined, { echo: { upload } });
    const { port } = open(server, mesh.issueFor(["edge"]));
    const error = await rpcErrorOf(port.upload(batches(1), newCall()));
    const text = "edge may not call Echo.Upload; cache may.";
    expect([error.code, error.message]).toEqual(["PERMISSION_DENIED", text]);
    expect(await failureOver(open(server, mesh.issueFor(["router"])))).toEqual([
      "PERMISSION_DENIED",
      "router may not call Echo.Unary; edge may.",
    ]);
    expect(refusals[0]).toEqual({ reason: "caller", address: expect.stringMatching(/^127\.0\.0\.1:\d+$/), text });
    expect(refusals).toHaveLength(2);
    expect(upload).not.toHaveBeenCalled();
  });

  test("a certificate for several services has the rights of each", async () => {
    const { server } = await serve();
    const { port } = open(server, mesh.issueFor(["router", "cache", "edge"]));
    expect(await port.unary(batch(1), newCall())).toEqual(batch(1));
    expect((await port.upload(batches(2), newCall())).offset).toBe(1);
  });

  test("with a token besides, both are needed", async () => {
    const { authenticate, interceptor } = meshToken(new Secret("token"));
    const check = callerCheck(table);
    const { server } = await serve(undefined, { authenticate: (peer, method) => check(peer, method) ?? authenticate(peer, method) });
    expect((await failureOver(open(server, mesh.issueFor(["edge"]))))[0]).toBe("UNAUTHENTICATED");
    expect((await failureOver(open(server, mesh.issueFor(["cache"]), { interceptor })))[0]).toBe("PERMISSION_DENIED");
    expect((await failureOver(open(server, createTestAuthority().issueFor(["edge"]), { interceptor })))[0]).toBe("UNAVAILABLE");
    expect(await open(server, mesh.issueFor(["edge"]), { interceptor }).port.unary(batch(1), newCall())).toEqual(batch(1));
    expect(refusals.map(({ reason }) => reason)).toEqual(["token", "caller"]);
  });

  test("each call of a shared stream is looked at by itself", async () => {
    const listsOnly: CallerTable = { echo: { "/unigate.test.v1.Echo/": ["edge"], "/unigate.test.v1.Echo/Unary": ["cache"] } };
    const { server } = await serve(undefined, { authenticate: callerCheck(listsOnly) });
    const edge = open(server, mesh.issueFor(["edge"]), { shareStreams: true });
    expect(await edge.channel.ready(10_000)).toBe(true);
    expect(await failureOver(edge)).toEqual(["PERMISSION_DENIED", "edge may not call Echo.Unary; cache may."]);
    const cache = open(server, mesh.issueFor(["cache"]), { shareStreams: true });
    expect(await cache.channel.ready(10_000)).toBe(true);
    expect(await cache.port.unary(batch(1), newCall())).toEqual(batch(1));
    expect(refusals.map(({ text }) => text)).toEqual(["edge may not call Echo.Unary; cache may."]);
  });

  test("who may call nothing may not open a stream to share either", async () => {
    const { server } = await serve();
    const router = open(server, mesh.issueFor(["router"]), { shareStreams: true });
    await router.channel.ready(10_000);
    expect(refusals.map(({ reason }) => reason)).toEqual(["caller"]);
    expect((await failureOver(router))[0]).toBe("PERMISSION_DENIED");
  });

  test("all of it over a unix socket as well", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rpc-"));
    cleanups.push(() => removeFolder(folder));
    const { server } = await serve(undefined, { listen: `unix:${folder}/a.sock` });
    expect(await open(server, mesh.issueFor(["edge"])).port.unary(batch(1), newCall())).toEqual(batch(1));
    expect((await failureOver(open(server, mesh.issueFor(["router"]))))[0]).toBe("PERMISSION_DENIED");
  });
});

describe("a caller whose certificate does not do", () => {
  const stranger = createTestAuthority("stranger");
  const namesake = createTestAuthority();

  test.each([
    ["expired", mesh.issueFor(["edge"], past), "expired", /^The caller's certificate has expired: it was valid to .* GMT\.$/],
    ["not yet valid", mesh.issueFor(["edge"], { from: new Date(Date.now() + HOUR_MS) }), "not_yet_valid", /is not yet valid/],
    ["foreign", { ...stranger.issueFor(["edge"]), authority: mesh.authority }, "not_trusted", /is not one of this mesh's authority/],
    [
      "of an authority that has only the name",
      { ...namesake.issueFor(["edge"]), authority: mesh.authority },
      "not_trusted",
      /is not one of this mesh's authority/,
    ],
    ["without a name", mesh.issue([]), "no_name", /names no service, such as URI:spiffe:\/\/unigate\/edge\.$/],
    ["of another mesh's names", mesh.issue(["spiffe://other/edge", "https://unigate/edge"]), "no_name", /names no service/],
    [
      "with a name that hides another",
      mesh.issue(['spiffe://other/a, URI:spiffe://unigate/edge, URI:spiffe://other/b"']),
      "no_name",
      /names no service/,
    ],
  ] as const)("%s: it is told why, and so is the server", async (_, certificates, reason, text) => {
    const unary = vi.fn(echo.unary);
    const { server } = await serve(undefined, { echo: { unary } });
    const { channel, port } = open(server, certificates);
    const error = await rpcErrorOf(port.unary(batch(1), newCall()));
    expect([error.code, error.message]).toEqual(["UNAUTHENTICATED", expect.stringMatching(text)]);
    expect((await rpcErrorOf(channel.port(HealthDefinition).check({ service: "" }, newCall()))).code).toBe("UNAUTHENTICATED");
    expect(refusals).toEqual([{ reason, address: expect.stringMatching(/^127\.0\.0\.1:\d+$/), text: error.message }]);
    expect(unary).not.toHaveBeenCalled();
  });

  test("none at all", async () => {
    const { server } = await serve();
    const client = connectHttp2(`https://${server.address}`, { rejectUnauthorized: false });
    cleanups.push(() => client.destroy());
    const headers = { ":method": "POST", ":path": "/unigate.test.v1.Echo/Unary", "content-type": "application/grpc", te: "trailers" };
    const stream = client.request(headers);
    stream.end();
    const [status, text] = await new Promise<[unknown, unknown]>((resolve) => {
      const take = (sent: Record<string, unknown>) => {
        if (sent["grpc-status"] !== undefined) resolve([sent["grpc-status"], sent["grpc-message"]]);
      };
      stream.on("response", take).on("trailers", take).resume();
    });
    expect([status, decodeURIComponent(String(text))]).toEqual(["16", "The caller showed no certificate, which this mesh asks for."]);
    expect(refusals.map(({ reason }) => reason)).toEqual(["no_certificate"]);
  });

  test("no TLS", async () => {
    const { server } = await serve();
    expect((await failureOver(open(server, null)))[0]).toBe("UNAVAILABLE");
    await until("the refusal", () => refusals.length > 0);
    expect(refusals[0]).toEqual({
      reason: "no_tls",
      address: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      text: "The caller does not speak TLS.",
    });
  });

  test("an old version of TLS", async () => {
    const { server } = await serve();
    const port = Number(server.address.split(":")[1]);
    const { certificate: cert, key, authority: ca } = mesh.issueFor(["edge"]);
    const socket = connectTls({ port, host: "127.0.0.1", cert, key, ca, maxVersion: "TLSv1.2", checkServerIdentity: () => undefined });
    await new Promise((resolve) => socket.once("error", resolve));
    await until("the refusal", () => refusals.length > 0);
    expect(refusals[0]?.reason).toBe("handshake");
  });

  test("one that only looks whether the port is open is nobody", async () => {
    const { server } = await serve();
    const port = Number(server.address.split(":")[1]);
    const socket = connectTcp(port, "127.0.0.1");
    await new Promise<void>((resolve) => socket.once("connect", () => socket.end(() => resolve())));
    expect(await open(server, mesh.issueFor(["edge"])).port.unary(batch(1), newCall())).toEqual(batch(1));
    expect(refusals).toEqual([]);
  });
});

describe("a server whose certificate does not do: the caller says why", () => {
  test.each([
    ["expired", mesh.issueFor(["echo"], past), /certificate has expired/],
    [
      "foreign",
      { ...createTestAuthority("stranger").issueFor(["echo"]), authority: mesh.authority },
      /unable to verify the first certificate/,
    ],
    [
      "of another service",
      mesh.issueFor(["cache"]),
      /certificate is for spiffe:\/\/unigate\/cache; it must be for spiffe:\/\/unigate\/echo/,
    ],
    ["without a name", mesh.issue([]), /certificate is for no service of the mesh; it must be for spiffe:\/\/unigate\/echo/],
  ])("%s", async (_, certificates, text) => {
    const unary = vi.fn(echo.unary);
    const { server } = await serve(certificates, { echo: { unary } });
    const [code, message] = await failureOver(open(server, mesh.issueFor(["edge"])));
    expect([code, message]).toEqual(["UNAVAILABLE", expect.stringMatching(text)]);
    expect(unary).not.toHaveBeenCalled();
  });

  test("one without TLS", async () => {
    const plain = await serveGrpc({ listen: "127.0.0.1:0", services: [{ definition: EchoDefinition, implementation: echo }] });
    cleanups.push(() => plain.drain(0));
    expect((await failureOver(open(plain, mesh.issueFor(["edge"]))))[0]).toBe("UNAVAILABLE");
  });
});

describe("new certificates", () => {
  test("are used by new connections; a stream that runs goes on; what they do not trust is refused", async () => {
    const next = createTestAuthority("next");
    const both = Buffer.concat([mesh.authority, next.authority]);
    const go = deferred();
    const { server, source } = await serve(
      { ...mesh.issueFor(["echo"]), authority: both },
      {
        echo: {
          async *list() {
            yield batch(1);
            await go.promise;
            yield batch(2);
          },
        },
      },
    );
    const before = open(server, { ...mesh.issueFor(["edge"]), authority: both });
    const running = before.port.list(times(1), newCall())[Symbol.asyncIterator]();
    await running.next();
    const renewed = next.issueFor(["echo"]);
    source.replace(renewed);
    expect(await open(server, next.issueFor(["edge"])).port.unary(batch(1), newCall())).toEqual(batch(1));
    expect((await failureOver(open(server, { ...mesh.issueFor(["edge"]), authority: both })))[0]).toBe("UNAUTHENTICATED");
    go.resolve();
    expect((await running.next()).value).toEqual(batch(2));
    expect((await running.next()).done).toBe(true);
  });

  test("a channel uses its new ones for its next connection", async () => {
    const { server } = await serve();
    const { port, source } = open(server, mesh.issueFor(["edge"], past));
    expect((await rpcErrorOf(port.unary(batch(1), newCall()))).message).toContain("has expired");
    source?.replace(mesh.issueFor(["edge"]));
    await until("the next connection", async () => (await port.unary(batch(1), newCall()).catch(() => null)) !== null, 15_000);
  });

  test("come while calls are made all the time: none fails", async () => {
    const { server, source } = await serve();
    let stop = false;
    let calls = 0;
    const channels: RpcChannel[] = [];
    /** Each caller connects again and again. */
    async function callOn(): Promise<void> {
      while (!stop) {
        const { channel, port } = open(server, mesh.issueFor(["edge"]));
        channels.push(channel);
        for (let index = 0; index < 20; index += 1) {
          await port.unary(batch(index), newCall());
          calls += 1;
        }
        channel.close();
      }
    }
    const callers = Array.from({ length: 8 }, callOn);
    for (let index = 0; index < 20; index += 1) {
      const reached = calls + 20;
      await until("more calls", () => calls >= reached);
      source.replace(mesh.issueFor(["echo"]));
    }
    stop = true;
    await Promise.all(callers);
    expect(calls).toBeGreaterThan(400);
    expect(refusals).toEqual([]);
  });
});

test("a drain waits for running calls and takes no new connections", async () => {
  const go = deferred();
  const { server } = await serve(undefined, {
    echo: {
      async *list() {
        yield batch(1);
        await go.promise;
        yield batch(2);
      },
    },
  });
  const { port } = open(server, mesh.issueFor(["edge"]));
  const answers = port.list(times(1), newCall())[Symbol.asyncIterator]();
  await answers.next();
  const drained = server.drain(60_000);
  expect((await failureOver(open(server, mesh.issueFor(["edge"]))))[0]).toBe("UNAVAILABLE");
  go.resolve();
  expect((await answers.next()).value).toEqual(batch(2));
  expect((await answers.next()).done).toBe(true);
  await drained;
});

test("a drain without time ends callers that stay, refused ones too", async () => {
  const { server } = await serve(undefined, { echo: { unary: never } });
  const waiting = failureOver(open(server, mesh.issueFor(["edge"])));
  expect((await failureOver(open(server, mesh.issueFor(["edge"], past))))[0]).toBe("UNAUTHENTICATED");
  await server.drain(1);
  expect((await waiting)[0]).toBe("UNAVAILABLE");
});
