import { mkdtempSync } from "node:fs";
import { constants } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppendBatch } from "@unigate/contracts";
import { Secret } from "@unigate/core";
import {
  type ChannelOptions,
  type GrpcServer,
  meshToken,
  openChannel,
  type RpcChannel,
  RpcError,
  type ServeOptions,
  serveGrpc,
} from "@unigate/rpc";
import { removeFolder, startWeatherProxy } from "@unigate/testkit";
import { afterEach, describe, expect, test, vi } from "vitest";
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
import { frame, plainClient, statusOf } from "./plain-http2.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function serve(implementation: Partial<EchoPort> = {}, options: Partial<ServeOptions> = {}): Promise<GrpcServer> {
  const services = [{ definition: EchoDefinition, implementation: { ...echo, ...implementation } }];
  const server = await serveGrpc({ listen: "127.0.0.1:0", services, ...options });
  cleanups.push(() => server.drain(0));
  return server;
}

/** A busy machine included. */
const PATIENCE_MS = 10_000;

function open(address: string, options: Partial<ChannelOptions> = {}): RpcChannel {
  const channel = openChannel({ address, ...options });
  cleanups.push(() => channel.close());
  return channel;
}

function portAt(address: string, options: Partial<ChannelOptions> = {}): EchoPort {
  return open(address, options).port(EchoDefinition);
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "rpc-"));
  cleanups.push(() => removeFolder(folder));
  return folder;
}

describe("where a server listens", () => {
  test("a port alone is loopback when anybody may call, all addresses when a token is asked for", async () => {
    const open = await serve({}, { listen: ":0" });
    expect(open.address).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
    expect(await portAt(open.address).unary(batch(1), newCall())).toEqual(batch(1));
    const { authenticate, interceptor } = meshToken(new Secret("token"));
    const guarded = await serve({}, { listen: ":0", authenticate });
    expect(guarded.address).toMatch(/^\[::\]:[1-9]\d*$/);
    const port = guarded.address.split(":").at(-1);
    expect(await portAt(`127.0.0.1:${port}`, { interceptor }).unary(batch(1), newCall())).toEqual(batch(1));
  });

  test("an address that others can reach is refused when anybody may call", async () => {
    await expect(serve({}, { listen: "0.0.0.0:0" })).rejects.toThrow("Set a mesh token, or listen on 127.0.0.1:0");
  });

  test("a port in use: the error names it and says what to do", async () => {
    const { address } = await serve();
    await expect(serve({}, { listen: address })).rejects.toThrow(
      `Cannot listen on ${address}: the port is in use. Stop the process that owns it, or listen on another port.`,
    );
  });

  test("a unix socket", async () => {
    const { address } = await serve({}, { listen: `unix:${join(temporaryFolder(), "a.sock")}` });
    expect(address).toMatch(/^unix:\/.*a\.sock$/);
    expect(await portAt(address).unary(batch(1), newCall())).toEqual(batch(1));
    expect(await collect(portAt(address).chat(batches(3), newCall()))).toHaveLength(3);
    await expect(serve({}, { listen: address })).rejects.toThrow("the socket exists");
    await expect(serve({}, { listen: "unix:/no/such/folder/a.sock" })).rejects.toThrow("its folder does not exist");
  });
});

describe("health", () => {
  test("says for the server and each service what setServing said last", async () => {
    const server = await serve();
    const health = open(server.address).port(HealthDefinition);
    const ask = async () => [
      (await health.check({ service: "" }, newCall())).status,
      (await health.check({ service: "unigate.test.v1.Echo" }, newCall())).status,
    ];
    expect(await ask()).toEqual(["NOT_SERVING", "NOT_SERVING"]);
    server.setServing(true);
    expect(await ask()).toEqual(["SERVING", "SERVING"]);
    server.setServing(false);
    expect(await ask()).toEqual(["NOT_SERVING", "NOT_SERVING"]);
    expect((await rpcErrorOf(health.check({ service: "other" }, newCall()))).code).toBe("NOT_FOUND");
  });

  test("can be watched without a token, and does not hold up a drain", async () => {
    const server = await serve({}, { authenticate: meshToken(new Secret("token")).authenticate });
    const updates = open(server.address).port(HealthDefinition).watch({ service: "" }, newCall())[Symbol.asyncIterator]();
    expect((await updates.next()).value).toEqual({ status: "NOT_SERVING" });
    server.setServing(true);
    expect((await updates.next()).value).toEqual({ status: "SERVING" });
    const started = Date.now();
    await server.drain(60_000);
    expect(Date.now() - started).toBeLessThan(10_000);
  });
});

describe("mesh token", () => {
  const token = meshToken(new Secret("s3cret-token"));

  test("the right one is let in, by every kind of call", async () => {
    const { address } = await serve({}, { authenticate: token.authenticate });
    const port = portAt(address, { interceptor: token.interceptor });
    expect(await port.unary(batch(1), newCall())).toEqual(batch(1));
    expect(await collect(port.list(times(2), newCall()))).toHaveLength(2);
    expect((await port.upload(batches(2), newCall())).offset).toBe(1);
    expect(await collect(port.chat(batches(2), newCall()))).toHaveLength(2);
  });

  test.each([
    ["none", {}],
    ["another", { interceptor: meshToken(new Secret("s3cret-tokem")).interceptor }],
    ["a shorter one", { interceptor: meshToken(new Secret("s3cret")).interceptor }],
  ])("%s is refused before any handler runs", async (_, options) => {
    const unary = vi.fn(echo.unary);
    const { address } = await serve({ unary }, { authenticate: token.authenticate });
    const port = portAt(address, options);
    const failures = [
      port.unary(batch(1), newCall()),
      collect(port.list(times(1), newCall())),
      port.upload(batches(1), newCall()),
      collect(port.chat(batches(1), newCall())),
    ].map(rpcErrorOf);
    for (const error of await Promise.all(failures)) {
      expect([error.code, error.message]).toEqual(["UNAUTHENTICATED", expect.stringContaining("mesh token")]);
    }
    expect(unary).not.toHaveBeenCalled();
  });

  test("the decision may depend on the method", async () => {
    const { address } = await serve(
      {},
      { authenticate: (_, method) => (method.endsWith("/List") ? new RpcError("PERMISSION_DENIED", "not you") : null) },
    );
    const port = portAt(address);
    expect((await rpcErrorOf(collect(port.list(times(1), newCall())))).code).toBe("PERMISSION_DENIED");
    expect(await port.unary(batch(1), newCall())).toEqual(batch(1));
  });
});

describe("drain", () => {
  test("a running stream comes to its end, no new call is taken", async () => {
    const go = deferred();
    const server = await serve({
      async *list() {
        yield batch(1);
        await go.promise;
        yield batch(2);
      },
    });
    const port = portAt(server.address);
    const answers = port.list(times(1), newCall())[Symbol.asyncIterator]();
    expect((await answers.next()).value).toEqual(batch(1));
    const drained = server.drain(60_000);
    await vi.waitFor(async () => expect((await rpcErrorOf(port.unary(batch(1), newCall()))).code).toBe("UNAVAILABLE"));
    go.resolve();
    expect((await answers.next()).value).toEqual(batch(2));
    expect((await answers.next()).done).toBe(true);
    await drained;
  });

  test("answers that a slow consumer has not taken yet are waited for", async () => {
    const part = Buffer.alloc(70_000, 1);
    const made = deferred();
    const server = await serve({
      async *list() {
        for (let offset = 0; offset < 4; offset += 1) yield batch(offset, part);
        made.resolve();
      },
    });
    const source = portAt(server.address).list(times(1), newCall());
    await source[Symbol.asyncIterator]().next();
    await made.promise;
    const drained = server.drain(60_000);
    await expect(Promise.race([drained, new Promise((resolve) => setTimeout(resolve, 600, "still there"))])).resolves.toBe("still there");
    expect(await collect(source)).toHaveLength(3);
    await drained;
  });

  test("when the time is over, a handler that listens says goodbye", async () => {
    const server = await serve({
      async *list(_, call) {
        yield batch(1);
        yield await new Promise<AppendBatch>((resolve) => call.cancel.onCancel((reason) => resolve({ ...batch(2), spoolId: reason })));
      },
    });
    const answers = portAt(server.address).list(times(1), newCall())[Symbol.asyncIterator]();
    await answers.next();
    const drained = server.drain(1);
    expect((await answers.next()).value).toEqual({ ...batch(2), spoolId: "shutdown" });
    expect((await answers.next()).done).toBe(true);
    await drained;
  });

  test("when the time is over, a handler that does not listen is ended; its caller gets UNAVAILABLE", async () => {
    const server = await serve({ unary: never, upload: never });
    const port = portAt(server.address);
    const failures = [port.unary(batch(1), newCall()), port.upload(batches(3), newCall())].map(rpcErrorOf);
    await expect(open(server.address).ready(5_000)).resolves.toBe(true);
    await server.drain(1);
    for (const error of await Promise.all(failures)) expect(error.code).toBe("UNAVAILABLE");
  });
});

describe("when the connection fails", () => {
  test("no server: UNAVAILABLE long before the deadline", async () => {
    const { address, drain } = await serve();
    await drain(0);
    const channel = open(address);
    const started = Date.now();
    const error = await rpcErrorOf(channel.port(EchoDefinition).unary(batch(1), newCall({ deadline: Date.now() + 60_000 })));
    expect(error.code).toBe("UNAVAILABLE");
    expect(Date.now() - started).toBeLessThan(5_000);
    expect(await channel.ready(50)).toBe(false);
  });

  test("the server comes back: calls work again on the same channel", async () => {
    const first = await serve();
    const channel = open(first.address);
    const port = channel.port(EchoDefinition);
    expect(await channel.ready(5_000)).toBe(true);
    await port.unary(batch(1), newCall());
    await first.drain(0);
    expect((await rpcErrorOf(port.unary(batch(1), newCall()))).code).toBe("UNAVAILABLE");
    await serve({}, { listen: first.address });
    await vi.waitFor(async () => expect(await port.unary(batch(2), newCall())).toEqual(batch(2)), { timeout: 10_000 });
    expect(await collect(port.chat(batches(2), newCall()))).toHaveLength(2);
  });

  test("cut in the middle: UNAVAILABLE for the caller, an error for the handler, never a clean end on either side", async () => {
    const ends: string[] = [];
    const receiving = { upload: deferred(), chat: deferred() };
    async function read(kind: "upload" | "chat", requests: AsyncIterable<AppendBatch>): Promise<void> {
      try {
        for await (const _ of requests) receiving[kind].resolve();
        ends.push("clean");
      } catch (error) {
        ends.push(error instanceof RpcError ? error.code : "other");
      }
    }
    const server = await serve({
      async *list() {
        yield batch(1);
        await never();
      },
      async upload(requests) {
        await read("upload", requests);
        return { spoolId: "", offset: 0 };
      },
      async *chat(requests) {
        await read("chat", requests);
        yield batch(0);
      },
    });
    const proxy = await startWeatherProxy(server.address);
    cleanups.push(() => proxy.close());
    const port = portAt(proxy.address);
    async function* endless(): AsyncGenerator<AppendBatch> {
      for (;;) {
        yield batch(1);
        await new Promise(setImmediate);
      }
    }
    const listing = port.list(times(1), newCall())[Symbol.asyncIterator]();
    await listing.next();
    const failures = [listing.next(), port.upload(endless(), newCall()), collect(port.chat(endless(), newCall()))].map(rpcErrorOf);
    await Promise.all([receiving.upload.promise, receiving.chat.promise]);
    proxy.cut();
    expect((await Promise.all(failures)).map((error) => error.code)).toEqual(["UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"]);
    await vi.waitFor(() => expect(ends).toEqual(["CANCELLED", "CANCELLED"]));
  });

  test("a closed channel says so", async () => {
    const { address } = await serve();
    const channel = open(address);
    const port = channel.port(EchoDefinition);
    channel.close();
    const failures = [port.unary(batch(1), newCall()), collect(port.list(times(1), newCall())), port.upload(batches(1), newCall())].map(
      rpcErrorOf,
    );
    for (const error of await Promise.all(failures))
      expect([error.code, error.message]).toEqual(["UNAVAILABLE", `The channel to ${address} is closed.`]);
  });

  test("the deadline alone ends a call, without a timer of the caller's", async () => {
    const reasons: (string | null)[] = [];
    const server = await serve({
      unary(_, call) {
        call.cancel.onCancel((reason) => reasons.push(reason));
        return never();
      },
    });
    const channel = open(server.address);
    // The handler is to be reached in time, on a busy machine too.
    expect(await channel.ready(PATIENCE_MS)).toBe(true);
    const error = await rpcErrorOf(channel.port(EchoDefinition).unary(batch(1), newCall({ deadline: Date.now() + 500 })));
    expect([error.code, error.message]).toEqual(["DEADLINE_EXCEEDED", "The call's deadline is over."]);
    await vi.waitFor(() => expect(reasons).toEqual(["deadline"]), { timeout: PATIENCE_MS });
  });
});

describe("a peer that is not ours", () => {
  const message = AppendBatch.encode(batch(5)).finish();

  async function call(server: GrpcServer, method: string) {
    const client = plainClient(server.address);
    cleanups.push(() => client.close());
    return client.call(`/unigate.test.v1.Echo/${method}`);
  }

  test("the end of its stream is the end of its requests", async () => {
    let sum = 0;
    const server = await serve({
      async upload(requests) {
        for await (const request of requests) sum += request.offset;
        return { spoolId: "", offset: sum };
      },
    });
    const stream = await call(server, "Upload");
    stream.write(frame(message));
    stream.end(frame(message));
    expect(await statusOf(stream)).toEqual({ code: 0, message: "OK" });
    expect(sum).toBe(10);
  });

  test("an early answer ends the call at once", async () => {
    const server = await serve({
      async *chat() {
        yield batch(1);
      },
    });
    const stream = await call(server, "Chat");
    stream.write(frame(message));
    expect(await statusOf(stream)).toEqual({ code: 0, message: "OK" });
  });

  test.each([
    ["bytes that are no message", "Unary", [frame(Buffer.from([0xff, 0xff]))], 13, "Echo.Unary: a message cannot be decoded."],
    ["bytes that are no message, in a stream", "Upload", [frame(Buffer.from([0x07]))], 13, "Echo.Upload: a message cannot be decoded."],
    ["no request", "Unary", [], 3, "Echo.Unary: there was no request."],
    [
      "a message over the limit",
      "Unary",
      [Buffer.from([0, 0x7f, 0, 0, 0])],
      8,
      "Received message larger than max (2130706432 vs 42991616)",
    ],
    ["an unknown method", "Nothing", [frame(message)], 12, "The server does not implement the method /unigate.test.v1.Echo/Nothing"],
  ])("%s", async (_, method, frames, code, text) => {
    const server = await serve();
    const stream = await call(server, method);
    for (const bytes of frames) stream.write(bytes);
    stream.end();
    expect(await statusOf(stream)).toEqual({ code, message: text });
  });

  test("two requests where one is due", async () => {
    const server = await serve({ unary: never });
    const stream = await call(server, "Unary");
    stream.end(Buffer.concat([frame(message), frame(message)]));
    expect(await statusOf(stream)).toEqual({ code: 3, message: "Echo.Unary takes one request, not more." });
  });

  test.each([constants.NGHTTP2_CANCEL, constants.NGHTTP2_NO_ERROR])("a reset with code %i cancels the handler", async (code) => {
    const begun = deferred();
    const reason = deferred<string>();
    const server = await serve({
      unary(_, call) {
        call.cancel.onCancel(reason.resolve);
        begun.resolve();
        return never();
      },
    });
    const stream = await call(server, "Unary");
    stream.write(frame(message));
    await begun.promise;
    stream.close(code);
    expect(await reason.promise).toBe("peer");
  });
});
