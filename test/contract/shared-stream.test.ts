import { Secret } from "@unigate/core";
import {
  type ChannelOptions,
  type GrpcServer,
  meshToken,
  openChannel,
  type RpcCode,
  RpcError,
  type ServeOptions,
  serveGrpc,
} from "@unigate/rpc";
import { startWeatherProxy, until } from "@unigate/testkit";
import * as fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { batch, collect, deferred, EchoDefinition, type EchoPort, echo, never, newCall, rpcErrorOf, times } from "./echo-service.ts";
import { HealthDefinition } from "./health-definition.ts";
import { startOtherServer } from "./other-server.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const OPEN = "/unigate.rpc.v1.Calls/Open";
const UNARY = "/unigate.test.v1.Echo/Unary";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A server that knows how its unary calls came. */
interface CountingServer extends GrpcServer {
  readonly ways: { shared: number; plain: number };
}

async function serve(implementation: Partial<EchoPort> = {}, options: Partial<ServeOptions> = {}): Promise<CountingServer> {
  const ways = { shared: 0, plain: 0 };
  const unary = implementation.unary ?? echo.unary;
  const counting: EchoPort = {
    ...echo,
    ...implementation,
    unary(request, call) {
      ways.shared += 1;
      return unary(request, call);
    },
  };
  const server = await serveGrpc({
    listen: "127.0.0.1:0",
    services: [{ definition: EchoDefinition, implementation: counting }],
    ...options,
    authenticate(peer, method) {
      const refused = options.authenticate?.(peer, method) ?? null;
      if (refused === null && method === UNARY && peer.header("made-for") === UNARY) {
        ways.plain += 1;
        ways.shared -= 1;
      }
      return refused;
    },
  });
  cleanups.push(() => server.drain(0));
  return { ...server, ways };
}

/** A port whose small unary calls go through a stream if the server takes one. */
async function portTo(address: string, options: Partial<ChannelOptions> = {}): Promise<EchoPort> {
  const channel = openChannel({
    address,
    ...options,
    interceptor(headers, method) {
      headers.set("made-for", method);
      options.interceptor?.(headers, method);
    },
  });
  cleanups.push(() => channel.close());
  expect(await channel.ready(10_000)).toBe(true);
  return channel.port(EchoDefinition);
}

describe("which calls share a stream", () => {
  test("small unary ones; larger ones and streams go by themselves", async () => {
    const server = await serve();
    const port = await portTo(server.address);
    for (let offset = 0; offset < 10; offset += 1) expect(await port.unary(batch(offset), newCall())).toEqual(batch(offset));
    expect(server.ways).toEqual({ shared: 10, plain: 0 });
    const large = batch(1, Buffer.alloc(65 * KIB, 7));
    expect(await port.unary(large, newCall())).toEqual(large);
    expect(server.ways).toEqual({ shared: 10, plain: 1 });
    expect(await collect(port.list(times(3), newCall()))).toHaveLength(3);
  });

  test("the first call waits for no stream, later ones get it", async () => {
    const server = await serve();
    const channel = openChannel({ address: server.address, interceptor: (headers, method) => headers.set("made-for", method) });
    cleanups.push(() => channel.close());
    const port = channel.port(EchoDefinition);
    await port.unary(batch(1), newCall());
    expect(server.ways).toEqual({ shared: 0, plain: 1 });
    await until("a shared call", async () => (await port.unary(batch(1), newCall())) && server.ways.shared > 0);
  });

  test("none when the channel is told so", async () => {
    const server = await serve();
    const port = await portTo(server.address, { shareStreams: false });
    await port.unary(batch(1), newCall());
    expect(server.ways).toEqual({ shared: 0, plain: 1 });
  });

  test("a method that the server has beside its services is called plainly, and works", async () => {
    const server = await serve();
    const channel = openChannel({ address: server.address });
    cleanups.push(() => channel.close());
    await channel.ready(10_000);
    const health = channel.port(HealthDefinition);
    server.setServing(true);
    const asked = Array.from({ length: 20 }, () => health.check({ service: "" }, newCall()));
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set(["SERVING"]));
    expect((await rpcErrorOf(health.check({ service: "other" }, newCall()))).code).toBe("NOT_FOUND");
  });

  test("a new stream takes the place of one that has served its time, and no call is lost", async () => {
    const server = await serve();
    let streams = 0;
    const interceptor = (_: unknown, method: string) => {
      if (method === OPEN) streams += 1;
    };
    const port = await portTo(server.address, { streamAgeMs: 50, interceptor });
    let calls = 0;
    for (; streams < 10; calls += 1) expect((await port.unary(batch(calls), newCall())).offset).toBe(calls);
    expect(server.ways.shared).toBeGreaterThan(0);
    expect(server.ways.shared + server.ways.plain).toBe(calls);
  });
});

describe("a thousand calls at once", () => {
  const codes: readonly RpcCode[] = ["INVALID_ARGUMENT", "NOT_FOUND", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "UNAUTHENTICATED"];
  const one = fc.record({
    requestBytes: fc.oneof(fc.nat(900), fc.nat(900), fc.nat(100 * KIB)),
    answerBytes: fc.oneof(fc.nat(900), fc.nat(900), fc.nat(900), fc.nat(300 * KIB)),
    turns: fc.nat(5),
    code: fc.option(fc.constantFrom(...codes), { freq: 4 }),
  });

  test("each gets its own answer", { timeout: 60_000 }, async () => {
    const port = await portTo(
      (
        await serve({
          async unary({ spoolId, offset, records }) {
            const { answerBytes, turns, code } = JSON.parse(spoolId) as { answerBytes: number; turns: number; code: RpcCode | null };
            for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
            if (code !== null) throw new RpcError(code, `${offset} \u{1F680}`);
            return batch(offset, Buffer.alloc(answerBytes, offset % 256), Buffer.from(String(records[0]?.length)));
          },
        })
      ).address,
    );
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: 1_000, maxLength: 1_000, size: "max" }), async (calls) => {
        const answers = calls.map(async ({ requestBytes, answerBytes, turns, code }, offset) => {
          const request = { ...batch(offset, Buffer.alloc(requestBytes)), spoolId: JSON.stringify({ answerBytes, turns, code }) };
          const work = port.unary(request, newCall());
          if (code !== null) {
            const error = await rpcErrorOf(work);
            return error.code === code && error.message === `${offset} \u{1F680}`;
          }
          const answer = await work;
          const [bytes, length] = answer.records;
          const right = bytes?.equals(Buffer.alloc(answerBytes, offset % 256)) && length?.toString() === String(requestBytes);
          return answer.offset === offset && right;
        });
        expect((await Promise.all(answers)).filter((right) => right !== true)).toEqual([]);
      }),
      { numRuns: 3, endOnFailure: true },
    );
  });
});

describe("cancel and deadline", () => {
  function listening(): { seen: Map<number, string>; begun: (offset: number) => boolean; unary: EchoPort["unary"] } {
    const seen = new Map<number, string>();
    return {
      seen,
      begun: (offset) => seen.has(offset),
      unary(request, call) {
        if (request.offset === 0) return Promise.resolve(request);
        seen.set(request.offset, "begun");
        call.cancel.onCancel((reason) => seen.set(request.offset, reason));
        return never();
      },
    };
  }

  test("a call that is given up ends for its caller at once and for its handler soon, and for nobody else", async () => {
    const { seen, begun, unary } = listening();
    const server = await serve({ unary });
    const port = await portTo(server.address);
    const calls = [1, 2, 3].map((offset) => ({ offset, call: newCall() }));
    const works = calls.map(({ offset, call }) => rpcErrorOf(port.unary(batch(offset), call)));
    await until("all have begun", () => begun(3));
    calls[1]?.call.cancel.cancel("superseded");
    const error = await works[1];
    expect([error?.code, error?.message]).toEqual(["CANCELLED", "The call was cancelled: superseded."]);
    await until("the handler knows", () => seen.get(2) === "peer");
    expect([seen.get(1), seen.get(3)]).toEqual(["begun", "begun"]);
    expect(await port.unary(batch(0), newCall())).toEqual(batch(0));
    for (const { call } of calls) call.cancel.cancel("client_gone");
    await Promise.all(works);
    expect(server.ways.plain).toBe(0);
  });

  test("a call that is given up in the turn that made it is never sent", async () => {
    const { seen, unary } = listening();
    const port = await portTo((await serve({ unary })).address);
    const call = newCall();
    const work = rpcErrorOf(port.unary(batch(1), call));
    call.cancel.cancel("client_gone");
    expect((await work).code).toBe("CANCELLED");
    await port.unary(batch(0), newCall());
    expect([...seen]).toEqual([]);
  });

  test("deadlines end calls one by one, on both sides, without a timer of the caller's", async () => {
    const { seen, unary } = listening();
    const server = await serve({ unary });
    const port = await portTo(server.address);
    const started = Date.now();
    const ended: [number, number][] = [];
    await Promise.all(
      [300, 100, 200].map(async (ms) => {
        const error = await rpcErrorOf(port.unary(batch(ms), newCall({ deadline: started + ms })));
        expect([error.code, error.message]).toEqual(["DEADLINE_EXCEEDED", "The call's deadline is over."]);
        ended.push([ms, Date.now() - started]);
      }),
    );
    expect(ended.map(([ms]) => ms)).toEqual([100, 200, 300]);
    for (const [ms, at] of ended) expect(at).toBeGreaterThanOrEqual(ms);
    await until("the handlers know", () => [100, 200, 300].every((ms) => seen.get(ms) === "deadline"));
    expect(server.ways).toEqual({ shared: 3, plain: 0 });
  });
});

describe("a connection that breaks", () => {
  test("fails what was sent with UNAVAILABLE, cancels the handlers, and is replaced", async () => {
    const begun = deferred();
    const reasons: string[] = [];
    const server = await serve({
      unary(request, call) {
        if (request.offset === 0) return Promise.resolve(request);
        call.cancel.onCancel((reason) => reasons.push(reason));
        if (request.offset === 50) begun.resolve();
        return never();
      },
    });
    const proxy = await startWeatherProxy(server.address);
    cleanups.push(() => proxy.close());
    const port = await portTo(proxy.address);
    const works = Array.from({ length: 50 }, (_, index) => rpcErrorOf(port.unary(batch(index + 1), newCall())));
    await begun.promise;
    expect(server.ways).toEqual({ shared: 50, plain: 0 });
    proxy.cut();
    expect(new Set((await Promise.all(works)).map(({ code }) => code))).toEqual(new Set(["UNAVAILABLE"]));
    await until("the handlers know", () => reasons.length === 50);
    expect(new Set(reasons)).toEqual(new Set(["peer"]));
    await until("a shared call again", async () => (await port.unary(batch(0), newCall())) && server.ways.shared > 50);
  });
});

describe("drain", () => {
  test("a stream that nobody uses holds up nothing", async () => {
    const server = await serve();
    await portTo(server.address);
    const started = Date.now();
    await server.drain(60_000);
    expect(Date.now() - started).toBeLessThan(900);
  });

  test("calls that run come to their end, also their large answers", async () => {
    const go = deferred();
    const answer = batch(1, Buffer.alloc(5 * MIB, 1));
    const server = await serve({
      async unary(request) {
        if (request.offset === 3) return request;
        await go.promise;
        return answer;
      },
    });
    const port = await portTo(server.address);
    const works = [port.unary(batch(1), newCall()), port.unary(batch(2), newCall())];
    await until("both run", () => server.ways.shared === 2);
    const drained = server.drain(60_000);
    await until("no new call is taken", async () => (await rpcErrorOf(port.unary(batch(3), newCall()))).code === "UNAVAILABLE");
    go.resolve();
    for (const { records } of await Promise.all(works)) expect(records[0]?.equals(Buffer.alloc(5 * MIB, 1))).toBe(true);
    await drained;
  });

  test("when the time is over, calls that run end with UNAVAILABLE", async () => {
    const server = await serve({ unary: never });
    const port = await portTo(server.address);
    const work = rpcErrorOf(port.unary(batch(1), newCall()));
    await until("it runs", () => server.ways.shared === 1);
    await server.drain(1);
    expect((await work).code).toBe("UNAVAILABLE");
  });

  test("under load, one of two replicas ends and no call is lost", async () => {
    const slow: EchoPort["unary"] = async (request) => {
      for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
      return request;
    };
    const servers = [await serve({ unary: slow }), await serve({ unary: slow })] as const;
    const port = await portTo(`ipv4:${servers.map(({ address }) => address).join(",")}`);
    let loading = true;
    const failures: unknown[] = [];
    const load = Array.from({ length: 50 }, async (_, worker) => {
      for (let n = 0; loading; n += 1) {
        const offset = worker * 1_000_000 + n;
        try {
          expect((await port.unary(batch(offset), newCall())).offset).toBe(offset);
        } catch (error) {
          failures.push(error);
        }
      }
    });
    await until("each replica has a stream", () => servers.every(({ ways }) => ways.shared > 100));
    await servers[0].drain(10_000);
    const before = servers[1].ways.shared;
    await until("the other one has the load", () => servers[1].ways.shared > before + 500);
    loading = false;
    await Promise.all(load);
    expect(failures).toEqual([]);
  });
});

describe("a server that shares no streams", () => {
  test("is called plainly, and asked once", async () => {
    const server = await startOtherServer({ sharesStreams: false });
    cleanups.push(() => server.close());
    const port = await portTo(server.address);
    for (let offset = 0; offset < 50; offset += 1) expect(await port.unary(batch(offset), newCall())).toEqual(batch(offset));
    expect([server.plainCalls(), server.streams()]).toEqual([50, 1]);
  });
});

describe("who may call what", () => {
  const token = meshToken(new Secret("s3cret"));

  test("a stream of a peer without the token is refused, and so are its calls", async () => {
    const unary = vi.fn(echo.unary);
    const server = await serve({ unary }, { authenticate: token.authenticate });
    const stranger = await portTo(server.address);
    expect((await rpcErrorOf(stranger.unary(batch(1), newCall()))).code).toBe("UNAUTHENTICATED");
    const friend = await portTo(server.address, { interceptor: token.interceptor });
    expect(await friend.unary(batch(2), newCall())).toEqual(batch(2));
    expect([server.ways, unary.mock.calls.length]).toEqual([{ shared: 1, plain: 0 }, 1]);
  });

  test("a method that a peer may not call is refused inside the stream, before its handler", async () => {
    const unary = vi.fn(echo.unary);
    const server = await serve(
      { unary },
      { authenticate: (_, method) => (method === UNARY ? new RpcError("PERMISSION_DENIED", "not you") : null) },
    );
    const port = await portTo(server.address);
    const refused = Array.from({ length: 5 }, () => rpcErrorOf(port.unary(batch(1), newCall())));
    for (const error of await Promise.all(refused)) expect([error.code, error.message]).toEqual(["PERMISSION_DENIED", "not you"]);
    expect(unary).not.toHaveBeenCalled();
  });
});

describe("size and backpressure", () => {
  test("an answer over the server's limit fails alone", async () => {
    const server = await serve({ unary: async ({ offset }) => batch(offset, Buffer.alloc(offset)) }, { bodyLimit: 50_000 });
    const port = await portTo(server.address, { bodyLimit: 50_000 });
    const works = [10, 1_200_000, 1_100_000].map((size) => port.unary(batch(size), newCall()));
    const error = await rpcErrorOf(works[1] ?? never());
    expect([error.code, error.message]).toEqual([
      "RESOURCE_EXHAUSTED",
      "Echo.Unary: a message of 1200015 bytes is over the limit of 1148576 bytes.",
    ]);
    expect((await works[0])?.records[0]).toHaveLength(10);
    expect((await works[2])?.records[0]).toHaveLength(1_100_000);
    expect(server.ways).toEqual({ shared: 3, plain: 0 });
  });

  test("an answer over the caller's limit fails alone too", async () => {
    const server = await serve({ unary: async ({ offset }) => batch(offset, Buffer.alloc(offset)) });
    const port = await portTo(server.address, { bodyLimit: 50_000 });
    const works = [10, 3_000_000, 1_100_000].map((size) => port.unary(batch(size), newCall()));
    const error = await rpcErrorOf(works[1] ?? never());
    expect([error.code, error.message]).toEqual(["RESOURCE_EXHAUSTED", "Echo.Unary: the answer is over the limit of 1148576 bytes."]);
    expect((await works[0])?.records[0]).toHaveLength(10);
    expect((await works[2])?.records[0]).toHaveLength(1_100_000);
    expect(server.ways).toEqual({ shared: 3, plain: 0 });
  });

  test("while the server takes nothing from the stream, calls go by themselves", async () => {
    const server = await startOtherServer({ sharesStreams: true, reads: false });
    cleanups.push(() => server.close());
    const port = await portTo(server.address);
    const call = newCall();
    const part = Buffer.alloc(60 * KIB, 1);
    let answered = 0;
    const works: Promise<unknown>[] = [];
    for (let offset = 0; offset < 100; offset += 1) {
      works.push(port.unary(batch(offset, part), call).then(() => (answered += 1)));
      await new Promise(setImmediate);
    }
    const settled = Promise.allSettled(works);
    await until("the rest was answered", () => answered === server.plainCalls() && answered > 50);
    call.cancel.cancel("client_gone");
    expect((await settled).filter(({ status }) => status === "rejected").length).toBe(100 - answered);
    expect(100 - answered).toBeGreaterThan(0);
  });

  test("more calls than a stream may have under way go by themselves", async () => {
    const server = await serve({ unary: (request) => (request.offset === 0 ? Promise.resolve(request) : never()) });
    const port = await portTo(server.address);
    const call = newCall();
    const works = Promise.allSettled(Array.from({ length: 10_010 }, () => port.unary(batch(1), call)));
    await until("all run", () => server.ways.shared + server.ways.plain === 10_010);
    expect(server.ways).toEqual({ shared: 10_000, plain: 10 });
    expect(await port.unary(batch(0), newCall())).toEqual(batch(0));
    call.cancel.cancel("client_gone");
    await works;
    await port.unary(batch(0), newCall());
    expect(server.ways).toEqual({ shared: 10_001, plain: 11 });
  });
});
