import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { backgroundCall } from "@unigate/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createEgressGuard } from "../egress/guard.ts";
import type { SendFailure } from "./send-failure.ts";
import { createSender, type Sender } from "./sender.ts";

/** One DER element: tag, length, content. */
function der(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const length = content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

const sequence = (...contents: Uint8Array[]) => der(0x30, ...contents);
const oid = (...bytes: number[]) => der(6, Buffer.from(bytes));
const ECDSA_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2));

/** A certificate that vouches for itself, made for this run, for `host` only. */
function selfSigned(host: string): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(der(0x31, sequence(oid(0x55, 4, 3), der(12, Buffer.from(host)))));
  const date = (years: number) =>
    der(0x17, Buffer.from(`${String((new Date().getUTCFullYear() + years) % 100).padStart(2, "0")}0101000000Z`));
  const altName = sequence(oid(0x55, 0x1d, 0x11), der(4, sequence(der(0x82, Buffer.from(host)))));
  const body = sequence(
    der(0xa0, der(2, Buffer.from([2]))),
    der(2, Buffer.from([1])),
    ECDSA_SHA256,
    name,
    sequence(date(-1), date(2)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(altName)),
  );
  const certificate = sequence(body, ECDSA_SHA256, der(3, Buffer.from([0]), sign("sha256", body, privateKey)));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
  };
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const identity = selfSigned("localhost");

interface Upstream {
  port: number;
  /** Names that were asked for. */
  names: string[];
  /** Of each connection: whether it took up an earlier session. */
  reused: boolean[];
  raw: Socket[];
}

async function upstream(answer: RequestListener): Promise<Upstream> {
  const names: string[] = [];
  const reused: boolean[] = [];
  const raw: Socket[] = [];
  const server = createServer(
    {
      ...identity,
      SNICallback(name, done) {
        names.push(name);
        done(null);
      },
    },
    answer,
  );
  server.on("secureConnection", (socket: TLSSocket) => {
    reused.push(socket.isSessionReused());
    socket.on("error", () => {});
  });
  server.on("connection", (socket: Socket) => raw.push(socket));
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    for (const socket of raw) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, names, reused, raw };
}

function sender(ca: string | null): Sender {
  const guard = createEgressGuard({ allow: "localhost,127.0.0.1", resolve: async () => [{ address: "127.0.0.1", family: 4 }] });
  const made = createSender({ guard, limits: { ca } });
  cleanups.push(() => made.close());
  return made;
}

async function get(from: Sender, origin: string, trusted: boolean): Promise<string | SendFailure> {
  const request = {
    method: "GET",
    url: { origin, path: "/" },
    headers: {},
    body: null,
    connectTimeoutMs: 5_000,
    headersTimeoutMs: 5_000,
    trusted,
  };
  const exchange = await from.send(request, backgroundCall());
  if (exchange.kind === "failed") return exchange;
  const body = await exchange.readAll(1000);
  return Buffer.isBuffer(body) ? body.toString() : body;
}

describe("over TLS", () => {
  test.each([true, false])("a request is answered (trusted: %s)", async (trusted) => {
    const { port, names } = await upstream((_request, response) => response.end("x"));
    expect(await get(sender(identity.cert), `https://localhost:${port}`, trusted)).toBe("x");
    expect(names).toEqual(["localhost"]);
  });

  test("the name of the URL is asked for and checked, not that of the address", async () => {
    const { port, names } = await upstream((_request, response) => response.end("x"));
    const from = sender(identity.cert);
    expect(await get(from, `https://example.com:${port}`, false)).toMatchObject({
      code: "unreachable",
      bytesSent: false,
      cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" },
    });
    expect(await get(from, `https://127.0.0.1:${port}`, false)).toMatchObject({ code: "unreachable" });
    expect(names).toEqual(["example.com"]);
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
  });

  test("a certificate of nobody known is refused, whatever the environment says", async () => {
    let requests = 0;
    const { port } = await upstream((_request, response) => {
      requests += 1;
      response.end("x");
    });
    const refused = { code: "unreachable", bytesSent: false, cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" } };
    expect(await get(sender(null), `https://localhost:${port}`, true)).toMatchObject(refused);
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    expect(await get(sender(null), `https://localhost:${port}`, true)).toMatchObject(refused);
    expect(requests).toBe(0);
  });

  test("a second connection takes up the session of the first", async () => {
    const { port, reused } = await upstream((_request, response) => response.writeHead(200, { connection: "close" }).end("x"));
    const from = sender(identity.cert);
    for (let count = 0; count < 2; count++) expect(await get(from, `https://localhost:${port}`, true)).toBe("x");
    expect(reused).toEqual([false, true]);
  });

  test("a connection that breaks is an error, not an end", async () => {
    const { port, raw } = await upstream((_request, response) => {
      response.writeHead(200, { connection: "close", "transfer-encoding": "identity" });
      response.write("some");
    });
    const outcome = get(sender(identity.cert), `https://localhost:${port}`, true);
    await vi.waitFor(() => expect(raw).toHaveLength(1));
    setTimeout(() => raw[0]?.resetAndDestroy(), 50);
    expect(await outcome).toMatchObject({ code: "reset" });
  });
});
