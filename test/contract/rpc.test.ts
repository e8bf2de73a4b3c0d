import type { AppendBatch } from "@unigate/contracts";
import { boundCall, type Call, CancelToken, GatewayError } from "@unigate/core";
import { RpcError } from "@unigate/rpc";
import { type Connection, type RunnerOptions, runners } from "@unigate/testkit";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  batch,
  batches,
  collect,
  deferred,
  EchoDefinition,
  type EchoPort,
  echo,
  echoAfter,
  kinds,
  never,
  newCall,
  rpcErrorOf,
  times,
} from "./echo-service.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

describe.each(runners)("rpc over $name", ({ name, connect }) => {
  let connection: Connection<EchoDefinition> | null = null;

  afterEach(async () => {
    await connection?.close();
    connection = null;
  });

  async function portTo(implementation: Partial<EchoPort>, options?: RunnerOptions): Promise<EchoPort> {
    connection = await connect(EchoDefinition, { ...echo, ...implementation }, options);
    return connection.port;
  }

  describe("results", () => {
    test("a unary call passes every field both ways", async () => {
      const port = await portTo({});
      const sent = batch(2 ** 40, Buffer.from("é\u0000"), Buffer.alloc(0));
      expect(await port.unary(sent, newCall())).toEqual(sent);
    });

    test("a stream of answers comes in order and ends", async () => {
      const port = await portTo({});
      const answers = await collect(port.list(times(100), newCall()));
      expect(answers.map((answer) => answer.offset)).toEqual([...Array(100).keys()]);
      expect(await collect(port.list(times(0), newCall()))).toEqual([]);
    });

    test("a stream of requests reaches the handler in order and ends", async () => {
      const seen: number[] = [];
      const port = await portTo({
        async upload(requests) {
          for await (const request of requests) seen.push(request.offset);
          return { spoolId: "", offset: seen.length };
        },
      });
      expect((await port.upload(batches(100), newCall())).offset).toBe(100);
      expect(seen).toEqual([...Array(100).keys()]);
      expect((await port.upload(batches(0), newCall())).offset).toBe(100);
    });

    test("both sides of a conversation can wait for each other", async () => {
      const port = await portTo({});
      const turns = Array.from({ length: 5 }, () => deferred());
      async function* questions(): AsyncGenerator<AppendBatch> {
        for (const [offset, turn] of turns.entries()) {
          yield batch(offset);
          await turn.promise;
        }
      }
      const heard: number[] = [];
      for await (const answer of port.chat(questions(), newCall())) {
        heard.push(answer.offset);
        turns[answer.offset]?.resolve();
      }
      expect(heard).toEqual([0, 1, 2, 3, 4]);
    });

    test("calls at the same time keep their messages apart", async () => {
      const port = await portTo({});
      const work = [...Array(200).keys()].map(async (n) => {
        const one = await port.unary(batch(n), newCall());
        const many = await collect(port.chat(batches(n % 7), newCall()));
        return [one.offset, many.length];
      });
      expect(await Promise.all(work)).toEqual([...Array(200).keys()].map((n) => [n, n % 7]));
    });

    test("a stream does not begin before its first answer is asked for", async () => {
      let begun = 0;
      const port = await portTo({
        async *list() {
          begun += 1;
          yield batch(0);
        },
      });
      port.list(times(1), newCall());
      await port.unary(batch(0), newCall());
      expect(begun).toBe(0);
    });

    test("answers asked for together come one each, in order", async () => {
      const port = await portTo({});
      const answers = port.list(times(2), newCall())[Symbol.asyncIterator]();
      const results = await Promise.all([answers.next(), answers.next(), answers.next()]);
      expect(results.map((result) => (result.done === true ? "end" : result.value.offset))).toEqual([0, 1, "end"]);
    });

    test.each(["upload", "chat"] as const)("%s: a handler that answers early lets the caller's requests go", async (kind) => {
      const gone = deferred();
      const port = await portTo({
        async upload() {
          return { spoolId: "early", offset: 0 };
        },
        async *chat() {
          yield batch(7);
        },
      });
      async function* endless(): AsyncGenerator<AppendBatch> {
        try {
          for (let offset = 0; ; offset += 1) yield batch(offset);
        } finally {
          gone.resolve();
        }
      }
      // Started by the first request being taken; a handler in the same process takes none, so nothing is there to let go.
      const requests = endless();
      if (name === "local" || name === "wire") await requests.next();
      if (kind === "upload") expect((await port.upload(requests, newCall())).spoolId).toBe("early");
      else expect(await collect(port.chat(requests, newCall()))).toEqual([batch(7)]);
      await gone.promise;
    });
  });

  describe("errors", () => {
    test.each(kinds)("$name: a handler's RpcError keeps code and message", async ({ invoke }) => {
      const port = await portTo(
        echoAfter(async () => {
          throw new RpcError("NOT_FOUND", "No such thing: 100 % gone,\nreally \u{1F680} \ud800.");
        }),
      );
      const error = await rpcErrorOf(invoke(port, newCall()));
      expect([error.code, error.message]).toEqual(["NOT_FOUND", "No such thing: 100 % gone,\nreally \u{1F680} \ufffd."]);
    });

    test.each([
      ["an Error", new Error("password=hunter2")],
      ["a GatewayError", new GatewayError("rate_limited", "hunter2")],
      ["a text", "hunter2"],
    ])("%s that a handler throws is reported there and hidden from the caller", async (_, thrown) => {
      const faults: [unknown, string][] = [];
      const port = await portTo(
        echoAfter(async () => {
          throw thrown;
        }),
        { onFault: (error, method) => faults.push([error, method]) },
      );
      for (const { invoke } of kinds) {
        const error = await rpcErrorOf(invoke(port, newCall()));
        expect(error.code).toBe("INTERNAL");
        expect(error.message).not.toContain("hunter2");
      }
      expect(faults).toEqual([
        [thrown, "Echo.Unary"],
        [thrown, "Echo.List"],
        [thrown, "Echo.Upload"],
        [thrown, "Echo.Chat"],
      ]);
    });

    test.each(kinds)("$name: a handler may also throw before it returns anything", async ({ name: kind, invoke }) => {
      const thrower = () => {
        throw new RpcError("ABORTED", "at once");
      };
      const port = await portTo({ [kind]: thrower });
      expect((await rpcErrorOf(invoke(port, newCall()))).code).toBe("ABORTED");
    });

    test.each(kinds)("$name: a method that is not implemented says so", async ({ name: kind, invoke }) => {
      const port = await portTo({ [kind]: undefined });
      const error = await rpcErrorOf(invoke(port, newCall()));
      expect([error.code, error.message.includes("Echo.")]).toEqual(["UNIMPLEMENTED", true]);
    });

    test("answers that were taken before the failure arrive, and the failure stays", async () => {
      const taken = deferred();
      const port = await portTo({
        async *list() {
          yield batch(1);
          await taken.promise;
          throw new RpcError("DATA_LOSS", "half");
        },
      });
      const answers = port.list(times(1), newCall())[Symbol.asyncIterator]();
      expect((await answers.next()).value).toEqual(batch(1));
      taken.resolve();
      expect((await rpcErrorOf(answers.next())).code).toBe("DATA_LOSS");
      expect((await rpcErrorOf(answers.next())).code).toBe("DATA_LOSS");
    });

    test("what is thrown by the caller's own requests comes back to it as it is, and the handler's loop ends with an error", async () => {
      const own = new Error("cannot read the file");
      const received = { upload: deferred(), chat: deferred() };
      async function* broken(kind: "upload" | "chat"): AsyncGenerator<AppendBatch> {
        yield batch(1);
        await received[kind].promise;
        throw own;
      }
      const ends: string[] = [];
      async function read(kind: "upload" | "chat", requests: AsyncIterable<AppendBatch>, call: Call): Promise<void> {
        try {
          for await (const _ of requests) received[kind].resolve();
          ends.push("clean");
        } catch (error) {
          ends.push(error instanceof RpcError ? `${error.code} ${call.cancel.reason}` : "other");
          throw error;
        }
      }
      const port = await portTo({
        async upload(requests, call) {
          await read("upload", requests, call);
          return { spoolId: "", offset: 0 };
        },
        async *chat(requests, call) {
          await read("chat", requests, call);
          yield batch(0);
        },
      });
      await expect(port.upload(broken("upload"), newCall())).rejects.toBe(own);
      await expect(collect(port.chat(broken("chat"), newCall()))).rejects.toBe(own);
      await vi.waitFor(() => expect(ends).toEqual(["CANCELLED peer", "CANCELLED peer"]));
    });
  });

  describe("deadline", () => {
    // With certificates a handshake comes first.
    const soonMs = name === "tls" ? 500 : 50;

    test.each(kinds)("$name: the caller is answered in time though the handler does not listen", async ({ invoke }) => {
      const reasons: (string | null)[] = [];
      const port = await portTo(
        echoAfter((call) => {
          call.cancel.onCancel((reason) => reasons.push(reason));
          return never();
        }),
      );
      const { call, done } = boundCall(newCall(), soonMs);
      const started = Date.now();
      expect((await rpcErrorOf(invoke(port, call))).code).toBe("DEADLINE_EXCEEDED");
      expect(Date.now() - started).toBeLessThan(2_000);
      done();
      await vi.waitFor(() => expect(reasons).toEqual(["deadline"]));
    });

    test("a stream that is under way ends with it, and the handler's finally runs", async () => {
      const finished = deferred();
      const port = await portTo({
        async *list(_, call) {
          const cancelled = new Promise((resolve) => call.cancel.onCancel(resolve));
          try {
            yield batch(1);
            await cancelled;
          } finally {
            finished.resolve();
          }
        },
      });
      const { call, done } = boundCall(newCall(), soonMs);
      const answers: AppendBatch[] = [];
      const work = (async () => {
        for await (const answer of port.list(times(1), call)) answers.push(answer);
      })();
      expect((await rpcErrorOf(work)).code).toBe("DEADLINE_EXCEEDED");
      expect(answers).toEqual([batch(1)]);
      done();
      await finished.promise;
    });

    test.each(kinds)("$name: a call whose deadline has passed is refused", async ({ invoke }) => {
      const handler = vi.fn(() => Promise.resolve());
      const port = await portTo(echoAfter(handler));
      expect((await rpcErrorOf(invoke(port, newCall({ deadline: Date.now() - 1 })))).code).toBe("DEADLINE_EXCEEDED");
      await port.unary(batch(1), newCall());
      expect(handler).toHaveBeenCalledTimes(1);
    });

    test("the handler knows it", async () => {
      const seen: number[] = [];
      const port = await portTo(
        echoAfter(async (call) => {
          seen.push(call.deadline);
        }),
      );
      const deadline = Date.now() + 60_000;
      await port.unary(batch(1), newCall({ deadline }));
      await port.unary(batch(1), newCall());
      await port.unary(batch(1), newCall({ deadline: Date.now() + 2 ** 33 }));
      expect(Math.abs((seen[0] ?? 0) - deadline)).toBeLessThan(2_000);
      expect(seen[1]).toBe(Number.POSITIVE_INFINITY);
      expect(seen[2]).toBeGreaterThan(Date.now() + 2 ** 31);
    });
  });

  describe("cancel", () => {
    test.each(kinds)("$name: before the call, nothing runs", async ({ invoke }) => {
      const handler = vi.fn(() => Promise.resolve());
      const port = await portTo(echoAfter(handler));
      const call = newCall();
      call.cancel.cancel("client_gone");
      expect((await rpcErrorOf(invoke(port, call))).code).toBe("CANCELLED");
      await port.unary(batch(1), newCall());
      expect(handler).toHaveBeenCalledTimes(1);
    });

    test.each(kinds)("$name: before the answer, the caller is answered though the handler does not listen", async ({ invoke }) => {
      const begun = deferred();
      const reasons: string[] = [];
      const port = await portTo(
        echoAfter((call) => {
          call.cancel.onCancel((reason) => reasons.push(reason));
          begun.resolve();
          return never();
        }),
      );
      const call = newCall();
      const work = rpcErrorOf(invoke(port, call));
      await begun.promise;
      call.cancel.cancel("client_gone");
      expect((await work).code).toBe("CANCELLED");
      await vi.waitFor(() => expect(reasons).toHaveLength(1));
      expect(["client_gone", "peer"]).toContain(reasons[0]);
    });

    test("in the middle of the answers: the loop ends with CANCELLED, the handler's finally runs", async () => {
      const finished = deferred<string>();
      const port = await portTo({
        async *list(_, call) {
          const cancelled = new Promise((resolve) => call.cancel.onCancel(resolve));
          try {
            yield batch(1);
            await cancelled;
            yield batch(2);
          } finally {
            finished.resolve(call.cancel.reason ?? "none");
          }
        },
      });
      const call = newCall();
      const answers: AppendBatch[] = [];
      const work = (async () => {
        for await (const answer of port.list(times(1), call)) {
          answers.push(answer);
          call.cancel.cancel("client_gone");
        }
      })();
      expect((await rpcErrorOf(work)).code).toBe("CANCELLED");
      expect(answers).toEqual([batch(1)]);
      expect(["client_gone", "peer"]).toContain(await finished.promise);
    });

    test.each(["upload", "chat"] as const)("%s: in the middle of the requests, both loops end", async (kind) => {
      const received = deferred();
      const handlerEnd = deferred<unknown>();
      const callerEnd = deferred();
      async function read(requests: AsyncIterable<AppendBatch>): Promise<void> {
        try {
          for await (const _ of requests) received.resolve();
          handlerEnd.resolve("clean");
        } catch (error) {
          handlerEnd.resolve(error instanceof RpcError ? error.code : error);
        }
      }
      const port = await portTo({
        async upload(requests) {
          await read(requests);
          return { spoolId: "", offset: 0 };
        },
        async *chat(requests) {
          await read(requests);
          yield batch(0);
        },
      });
      const call = newCall();
      async function* requests(): AsyncGenerator<AppendBatch> {
        const cancelled = new Promise((resolve) => call.cancel.onCancel(resolve));
        try {
          yield batch(1);
          await cancelled;
          yield batch(2);
        } finally {
          callerEnd.resolve();
        }
      }
      const work = rpcErrorOf(kind === "upload" ? port.upload(requests(), call) : collect(port.chat(requests(), call)));
      await received.promise;
      call.cancel.cancel("superseded");
      expect((await work).code).toBe("CANCELLED");
      expect(await handlerEnd.promise).toBe("CANCELLED");
      await callerEnd.promise;
    });

    test.each(["list", "chat"] as const)("%s: break ends the handler and the requests, not the caller's token", async (kind) => {
      const handlerEnd = deferred<string>();
      const callerEnd = deferred();
      async function* answer(call: Call): AsyncGenerator<AppendBatch> {
        try {
          for (let offset = 0; ; offset += 1) yield batch(offset);
        } finally {
          handlerEnd.resolve(call.cancel.reason ?? "none");
        }
      }
      const port = await portTo({
        list: (_, call) => answer(call),
        async *chat(requests, call) {
          for await (const _ of requests) yield* answer(call);
        },
      });
      async function* requests(): AsyncGenerator<AppendBatch> {
        try {
          for (let offset = 0; ; offset += 1) yield batch(offset, Buffer.alloc(KIB));
        } finally {
          callerEnd.resolve();
        }
      }
      const call = newCall();
      for await (const answered of kind === "list" ? port.list(times(1), call) : port.chat(requests(), call)) {
        if (answered.offset === 3) break;
      }
      expect(await handlerEnd.promise).toBe("peer");
      expect(call.cancel.reason).toBeNull();
      if (kind === "chat") await callerEnd.promise;
    });

    test("a handler that waits for something when its consumer breaks off learns it from its token", async () => {
      const handlerEnd = deferred();
      const port = await portTo({
        async *list(_, call) {
          try {
            yield batch(1);
            await new Promise((resolve) => call.cancel.onCancel(resolve));
          } finally {
            handlerEnd.resolve();
          }
        },
      });
      const answers = port.list(times(1), newCall())[Symbol.asyncIterator]();
      await answers.next();
      const pending = answers.next();
      await answers.return?.();
      expect((await pending).done).toBe(true);
      expect((await answers.next()).done).toBe(true);
      await handlerEnd.promise;
    });

    test("cancelling a call that is over does nothing", async () => {
      const seen: Call[] = [];
      const port = await portTo(
        echoAfter(async (call) => {
          seen.push(call);
        }),
      );
      for (const { invoke } of kinds) {
        const call = newCall();
        await invoke(port, call);
        if (name !== "local" && name !== "wire") call.cancel.cancel("client_gone");
      }
      await port.unary(batch(1), newCall());
      expect(seen.map((call) => call.cancel.reason)).toEqual([null, null, null, null, null]);
    });

    test("no call leaves a listener behind on the caller's token", async () => {
      let listeners = 0;
      class CountingToken extends CancelToken {
        override onCancel(listener: Parameters<CancelToken["onCancel"]>[0]): () => void {
          const stop = super.onCancel(listener);
          listeners += 1;
          return () => {
            listeners -= 1;
            stop();
          };
        }
      }
      const call = newCall({ cancel: new CountingToken() });
      const failing = echoAfter(() => Promise.reject(new RpcError("ABORTED", "no")));
      const port = await portTo({ ...echo, list: failing.list });
      for (const { name: kind, invoke } of kinds) {
        if (kind === "list") await rpcErrorOf(invoke(port, call));
        else await invoke(port, call);
      }
      for await (const _ of port.chat(batches(5), call)) break;
      expect(listeners).toBe(0);
    });
  });

  test("the trace passes to the handler", async () => {
    const seen: [string, string][] = [];
    const port = await portTo(
      echoAfter(async (call) => {
        seen.push([call.traceId, call.traceparent]);
      }),
    );
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
    for (const { invoke } of kinds) await invoke(port, newCall({ traceId, traceparent }));
    await port.unary(batch(1), newCall());
    expect(seen).toEqual([...kinds.map(() => [traceId, traceparent]), ["0".repeat(32), ""]]);
  });

  describe("backpressure", () => {
    const part = Buffer.alloc(64 * KIB, 1);

    /** Waits until the count stands still: round trips on the same connection let everything move that can. */
    async function standstill(port: EchoPort, count: () => number): Promise<number> {
      for (;;) {
        const before = count();
        for (let trip = 0; trip < 20; trip += 1) await port.unary(batch(trip), newCall());
        if (count() === before) return before;
      }
    }

    test.each(["list", "chat"] as const)("%s: who reads one answer holds its maker to 1 MiB ahead", async (kind) => {
      let made = 0;
      async function* flood(): AsyncGenerator<AppendBatch> {
        for (; made < 200; ) {
          made += 1;
          yield batch(made, part);
        }
      }
      const port = await portTo({ list: flood, chat: flood });
      const source = kind === "list" ? port.list(times(1), newCall()) : port.chat(batches(0), newCall());
      const answers = source[Symbol.asyncIterator]();
      await answers.next();
      expect(await standstill(port, () => made)).toBeLessThanOrEqual(MIB / part.length);
      const rest = await collect(source);
      expect(rest.at(-1)).toEqual(batch(200, part));
      expect(rest).toHaveLength(199);
    });

    test.each(["upload", "chat"] as const)("%s: who reads no request holds its maker to 1 MiB ahead", async (kind) => {
      let made = 0;
      const go = deferred();
      async function* flood(): AsyncGenerator<AppendBatch> {
        for (; made < 200; ) {
          made += 1;
          yield batch(1, part);
        }
      }
      const port = await portTo({
        async upload(requests, call) {
          await go.promise;
          return echo.upload(requests, call);
        },
        async *chat(requests, call) {
          await go.promise;
          yield* echo.chat(requests, call);
        },
      });
      const work = kind === "upload" ? port.upload(flood(), newCall()) : collect(port.chat(flood(), newCall()));
      expect(await standstill(port, () => made)).toBeLessThanOrEqual(MIB / part.length);
      go.resolve();
      const result = await work;
      expect("offset" in result ? result.offset : result.length).toBe(200);
    });

    test("a conversation stands still as a whole when nobody reads the answers", async () => {
      let made = 0;
      const port = await portTo({});
      async function* flood(): AsyncGenerator<AppendBatch> {
        for (; made < 200; ) {
          made += 1;
          yield batch(made, part);
        }
      }
      const source = port.chat(flood(), newCall());
      await source[Symbol.asyncIterator]().next();
      expect(await standstill(port, () => made)).toBeLessThanOrEqual((2 * MIB) / part.length);
      expect(await collect(source)).toHaveLength(199);
    });
  });

  describe("size", () => {
    test.each([1, 20])("%i MB pass both ways unchanged", async (megabytes) => {
      const port = await portTo({});
      const body = Buffer.alloc(megabytes * 1_000_000);
      for (let at = 0; at < body.length; at += 4) body.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at);
      const answer = await port.unary(batch(1, body), newCall());
      expect(answer.records[0]?.equals(body)).toBe(true);
      const [first] = await collect(port.chat(oneOf(batch(1, body)), newCall()));
      expect(first?.records[0]?.equals(body)).toBe(true);
    });

    test.skipIf(name === "local")("a message over the limit fails with its size and the limit; the next call works", async () => {
      const big = batch(1, Buffer.alloc(1_200_000));
      const port = await portTo(
        {
          async *list() {
            yield big;
          },
          async upload(requests) {
            for await (const _ of requests);
            return { spoolId: "", offset: 0 };
          },
        },
        { bodyLimit: 50_000 },
      );
      const failures = [port.unary(big, newCall()), collect(port.list(times(1), newCall())), port.upload(oneOf(big), newCall())].map(
        rpcErrorOf,
      );
      for (const error of await Promise.all(failures)) {
        expect(error.code).toBe("RESOURCE_EXHAUSTED");
        expect(error.message).toMatch(/^Echo\.\w+: a message of 12000\d\d bytes is over the limit of 1148576 bytes\.$/);
      }
      expect(await port.unary(batch(1), newCall())).toEqual(batch(1));
    });
  });
});

async function* oneOf<T>(message: T): AsyncGenerator<T> {
  yield message;
}

describe("rpc over wire, when a receiver changes what it received", () => {
  const wire = runners.find((runner) => runner.name === "wire")!;

  test("a changed field fails at once", async () => {
    const faults: unknown[] = [];
    const { port } = await wire.connect(
      EchoDefinition,
      {
        ...echo,
        async unary(request) {
          request.offset += 1;
          return request;
        },
      },
      { onFault: (error) => faults.push(error) },
    );
    expect((await rpcErrorOf(port.unary(batch(1), newCall()))).code).toBe("INTERNAL");
    expect(faults).toEqual([expect.any(TypeError)]);
  });

  test("bytes changed by a handler are found when the port is closed", async () => {
    const { port, close } = await wire.connect(EchoDefinition, {
      ...echo,
      async upload(requests) {
        for await (const request of requests) request.records[0]?.fill(0);
        return { spoolId: "", offset: 0 };
      },
    });
    await port.upload(oneOf(batch(1, Buffer.from("abc"))), newCall());
    await expect(close()).rejects.toThrow("Echo.Upload request");
  });

  test("bytes changed by a caller are found when the port is closed", async () => {
    const { port, close } = await wire.connect(EchoDefinition, echo);
    const answer = await port.unary(batch(1, Buffer.from("abc")), newCall());
    answer.records[0]?.write("x");
    await expect(close()).rejects.toThrow("Echo.Unary answer");
  });
});
