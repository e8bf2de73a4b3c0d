import { AnswerBatch, AppendBatch, CallBatch, CallsDefinition } from "@unigate/contracts";
import { type GrpcServer, openChannel, type ServeOptions, serveGrpc } from "@unigate/rpc";
import { until } from "@unigate/testkit";
import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { batch, EchoDefinition, type EchoPort, echo, never, newCall, rpcErrorOf } from "./echo-service.ts";
import { startOtherServer } from "./other-server.ts";
import { frame, plainClient, statusOf } from "./plain-http2.ts";

const OPEN = `/${CallsDefinition.fullName}/${CallsDefinition.methods.open.name}`;
const UNARY = "/unigate.test.v1.Echo/Unary";
const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type SentCall = CallBatch["calls"][number];

function sentCall(id: number, more: Partial<SentCall> = {}): SentCall {
  const payload = Buffer.from(AppendBatch.encode(batch(id)).finish());
  return { id, method: 0, path: "", timeoutMs: 0, traceparent: "", payload, ...more };
}

describe("our server and a client made of the generated code", () => {
  async function stream(implementation: Partial<EchoPort> = {}, options: Partial<ServeOptions> = {}) {
    const services = [{ definition: EchoDefinition, implementation: { ...echo, ...implementation } }];
    const server: GrpcServer = await serveGrpc({ listen: "127.0.0.1:0", services, ...options });
    cleanups.push(() => server.drain(0));
    const client = plainClient(server.address);
    cleanups.push(() => client.close());
    const http2 = client.call(OPEN);
    const answers: AnswerBatch["answers"] = [];
    let rest = Buffer.alloc(0);
    let draining = false;
    http2.on("data", (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const end = 5 + rest.readUInt32BE(1);
        const received = AnswerBatch.decode(rest.subarray(5, end));
        answers.push(...received.answers);
        draining ||= received.draining;
        rest = rest.subarray(end);
      }
    });
    return {
      server,
      answers,
      isDraining: () => draining,
      status: statusOf(http2),
      send: (calls: SentCall[], cancelled: number[] = []) => http2.write(frame(CallBatch.encode({ calls, cancelled }).finish())),
      end: () => http2.end(),
      pause: () => http2.pause(),
      resume: () => http2.resume(),
    };
  }

  test("calls are answered, and the stream ends when its client has ended and has all answers", async () => {
    const seen: [number, string][] = [];
    const { answers, send, end, status } = await stream({
      async unary(request, call) {
        seen.push([call.deadline, call.traceparent]);
        await new Promise(setImmediate);
        return request;
      },
    });
    const before = Date.now();
    send([sentCall(1, { path: UNARY }), sentCall(2, { timeoutMs: 60_000 })]);
    send([sentCall(3, { traceparent: TRACEPARENT })]);
    end();
    expect(await status).toEqual({ code: 0, message: "OK" });
    expect(answers.map(({ id, payload }) => [id, AppendBatch.decode(payload)])).toEqual([1, 2, 3].map((id) => [id, batch(id)]));
    expect(seen.map(([, traceparent]) => traceparent)).toEqual(["", "", TRACEPARENT]);
    expect([seen[0]?.[0], seen[2]?.[0]]).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
    expect(seen[1]?.[0]).toBeGreaterThanOrEqual(before + 60_000);
    expect(seen[1]?.[0]).toBeLessThan(before + 65_000);
  });

  test.each([
    ["an unknown one", "/unigate.test.v1.Echo/Nothing"],
    ["one with a stream of answers", "/unigate.test.v1.Echo/List"],
    ["one with a stream of requests", "/unigate.test.v1.Echo/Upload"],
    ["health", "/grpc.health.v1.Health/Check"],
    ["the stream itself", OPEN],
  ])("a method that is not served here is said to be so: %s", async (_, path) => {
    const { answers, send, end, status } = await stream();
    send([sentCall(3, { path: UNARY }), sentCall(1, { method: 7, path }), sentCall(2, { method: 7 })]);
    end();
    expect((await status).code).toBe(0);
    expect(answers.map(({ id, status: code, unserved }) => [id, code, unserved]).toSorted(([a], [b]) => Number(a) - Number(b))).toEqual([
      [1, 12, true],
      [2, 12, true],
      [3, 0, false],
    ]);
  });

  test("a request that is no message fails alone", async () => {
    const { answers, send } = await stream();
    send([sentCall(1, { path: UNARY, payload: Buffer.from([0xff]) }), sentCall(2)]);
    await until("two answers", () => answers.length === 2);
    expect(answers.map(({ id, status, message }) => [id, status, message]).toSorted(([a], [b]) => Number(a) - Number(b))).toEqual([
      [1, 13, "Echo.Unary: a message cannot be decoded."],
      [2, 0, ""],
    ]);
  });

  test("cancelled calls are told and not answered", async () => {
    const reasons: string[] = [];
    const { answers, send, end, status } = await stream({
      unary(request, call) {
        if (request.offset === 4) return Promise.resolve(request);
        return new Promise((resolve) => {
          call.cancel.onCancel((reason) => {
            reasons.push(`${request.offset} ${reason}`);
            resolve(request);
          });
        });
      },
    });
    send([sentCall(1, { path: UNARY }), sentCall(2), sentCall(3, { timeoutMs: 50 })]);
    send([sentCall(4)], [1, 2, 99]);
    await until("all are over", () => reasons.length === 3);
    end();
    expect((await status).code).toBe(0);
    expect([reasons, answers.map(({ id }) => id)]).toEqual([["1 peer", "2 peer", "3 deadline"], [4]]);
  });

  test.each([
    ["a number that was never taught", [sentCall(1)]],
    ["an id twice", [sentCall(1, { path: UNARY }), sentCall(1)]],
  ])("%s ends the stream, and cancels its calls", async (_, calls) => {
    const reasons: string[] = [];
    const { send, status } = await stream({
      unary(__, call) {
        call.cancel.onCancel((reason) => reasons.push(reason));
        return never();
      },
    });
    send(calls);
    expect((await status).code).toBe(13);
    await until("the calls know", () => reasons.length === calls.length - 1);
  });

  describe("who takes no answers", () => {
    const small = Buffer.from(AppendBatch.encode(batch(0)).finish());

    /** Sends 39 calls for answers of a megabyte and reads none of them. */
    async function clogged(timeoutMs: number) {
      let begun = 0;
      const opened = await stream({
        async unary(request) {
          begun += 1;
          return batch(request.offset, Buffer.alloc(request.offset === 0 ? 10 : 1_000_000));
        },
      });
      opened.send([sentCall(1, { path: UNARY, payload: small })]);
      await until("the stream works", () => opened.answers.length === 1);
      opened.pause();
      for (let id = 2; id <= 40; id += 1) {
        opened.send([sentCall(id, { timeoutMs })]);
        await new Promise(setImmediate);
      }
      return { ...opened, begun: () => begun - 1 };
    }

    test("is not read beyond 8 MiB of them, and gets all later", async () => {
      const { server, answers, begun, resume } = await clogged(0);
      await until("some have begun", () => begun() >= 8);
      const other = openChannel({ address: server.address });
      cleanups.push(() => other.close());
      for (let trip = 0; trip < 50; trip += 1) await other.port(EchoDefinition).unary(batch(0), newCall());
      expect(begun() - 50).toBeLessThan(15);
      resume();
      await until("all answers", () => answers.filter(({ more }) => !more).length === 40);
    });

    test("and gives all of them up, gets an end of the stream", async () => {
      const { send, end, resume, status, begun } = await clogged(0);
      await until("some have begun", () => begun() >= 8);
      send([], [...Array(41).keys()]);
      end();
      resume();
      expect((await status).code).toBe(0);
    });

    test("and lets the time of its calls pass, is read on", async () => {
      const { answers, begun, send, resume } = await clogged(200);
      await until("all have had their time", () => begun() === 39);
      resume();
      send([sentCall(41, { payload: small })]);
      await until("the next call is answered", () => answers.some(({ id }) => id === 41));
    });
  });

  test("a client that does not go away from a draining server is waited for a second, its calls as all others", async () => {
    let begun = false;
    const { server, answers, isDraining, send } = await stream({
      unary() {
        begun = true;
        return never();
      },
    });
    send([sentCall(1, { path: UNARY })]);
    await until("it runs", () => begun);
    const drained = server.drain(1);
    await until("it was told", isDraining);
    await until("its call has ended", () => answers.length === 1);
    expect(answers[0]).toMatchObject({ id: 1, status: 14 });
    await drained;
  });
});

describe("our client and a server made of the generated code", () => {
  test("any calls, answered in any order and any parts", { timeout: 60_000 }, async () => {
    const waiting: { call: SentCall; send: (answer: Uint8Array) => void }[] = [];
    const paths = new Map<number, string>();
    const server = await startOtherServer({
      sharesStreams: true,
      onBatch(message, send) {
        for (const call of CallBatch.decode(message).calls) {
          if (call.path !== "") paths.set(call.method, call.path);
          waiting.push({ call, send });
        }
      },
    });
    cleanups.push(() => server.close());
    const channel = openChannel({ address: server.address });
    cleanups.push(() => channel.close());
    await channel.ready(10_000);
    const port = channel.port(EchoDefinition);
    const one = fc.record({ bytes: fc.nat(3_000), part: fc.integer({ min: 1, max: 2_000 }), fails: fc.boolean(), last: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 40 }), async (calls) => {
        const works = calls.map(({ bytes, fails }, offset) => {
          const work = port.unary(batch(offset, Buffer.alloc(bytes, offset)), newCall({ traceparent: TRACEPARENT }));
          return fails ? rpcErrorOf(work).then(({ code, message }) => [code, message]) : work;
        });
        await until("all came", () => waiting.length === calls.length);
        const received = waiting.splice(0);
        for (const { call } of received) {
          expect([paths.get(call.method), call.traceparent, call.timeoutMs]).toEqual([UNARY, TRACEPARENT, 0]);
        }
        const inOrder = received.toSorted((a, b) => Number(spec(a.call).last) - Number(spec(b.call).last));
        for (const { call, send } of inOrder) for (const answer of answersTo(call)) send(AnswerBatch.encode(answer).finish());
        expect(await Promise.all(works)).toEqual(
          calls.map(({ bytes, fails }, offset) => (fails ? ["ABORTED", `no ${offset} é`] : batch(offset, Buffer.alloc(bytes, offset)))),
        );

        function spec(call: SentCall) {
          const found = calls[AppendBatch.decode(call.payload).offset];
          if (found === undefined) throw new Error("a call that nobody made");
          return found;
        }

        function answersTo(call: SentCall): AnswerBatch[] {
          const { fails, part } = spec(call);
          const base = { id: call.id, status: 0, message: "", more: false, unserved: false };
          if (fails) {
            const message = `no ${AppendBatch.decode(call.payload).offset} é`;
            return [{ answers: [{ ...base, status: 10, message, payload: Buffer.alloc(0) }], draining: false }];
          }
          const parts: AnswerBatch[] = [];
          for (let at = 0; at === 0 || at < call.payload.length; at += part) {
            const more = at + part < call.payload.length;
            parts.push({ answers: [{ ...base, payload: call.payload.subarray(at, at + part), more }], draining: false });
          }
          return parts;
        }
      }),
      { numRuns: 30 },
    );
    expect(server.plainCalls()).toBe(0);
  });

  test("a server that drains gets no new calls, and its last answers are taken", async () => {
    const waiting: { id: number; payload: Buffer; send: (answer: Uint8Array) => void }[] = [];
    const server = await startOtherServer({
      sharesStreams: true,
      onBatch(message, send) {
        for (const { id, payload } of CallBatch.decode(message).calls) waiting.push({ id, payload, send });
      },
    });
    cleanups.push(() => server.close());
    const channel = openChannel({ address: server.address });
    cleanups.push(() => channel.close());
    await channel.ready(10_000);
    const port = channel.port(EchoDefinition);
    const work = port.unary(batch(1), newCall());
    await until("it came", () => waiting.length === 1);
    const [{ id, payload, send } = { id: 0, payload: Buffer.alloc(0), send: never }] = waiting;
    send(AnswerBatch.encode({ answers: [], draining: true }).finish());
    await until("new calls go elsewhere", async () => {
      const call = newCall();
      const elsewhere = port.unary(batch(2), call);
      await Promise.race([elsewhere, until("it came by a stream", () => waiting.length > 1)]);
      waiting.splice(1);
      call.cancel.cancel("superseded");
      await elsewhere.catch(() => {});
      return server.plainCalls() > 0;
    });
    send(
      AnswerBatch.encode({ answers: [{ id, status: 0, message: "", payload, more: false, unserved: false }], draining: false }).finish(),
    );
    expect(await work).toEqual(batch(1));
  });

  test("bytes that are no batch break the stream, not the channel", async () => {
    const server = await startOtherServer({ sharesStreams: true, onBatch: (_, send) => send(Buffer.from([0x0a])) });
    cleanups.push(() => server.close());
    const channel = openChannel({ address: server.address });
    cleanups.push(() => channel.close());
    await channel.ready(10_000);
    const port = channel.port(EchoDefinition);
    expect((await rpcErrorOf(port.unary(batch(1), newCall()))).code).toBe("UNAVAILABLE");
    expect(await port.unary(batch(2), newCall())).toEqual(batch(2));
    expect(server.plainCalls()).toBe(1);
  });
});
