import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { backgroundCall, type Call, type CancelReason, CancelToken } from "@unigate/core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createEgressGuard, type Resolve } from "../egress/guard.ts";
import { FrameTooLargeError } from "../framing/complete-lines.ts";
import { createSseParser } from "../framing/sse.ts";
import type { BodyConsumer, Exchange } from "./exchange.ts";
import { SendError, type SendFailure } from "./send-failure.ts";
import type { SendRequest } from "./send-request.ts";
import { createSender, type Sender } from "./sender.ts";
import type { SenderLimits } from "./sender-limits.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Upstream {
  origin: string;
  port: number;
  /** Every connection that was ever accepted. */
  sockets: Socket[];
}

async function listen(server: Server): Promise<Upstream> {
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, port, sockets };
}

function upstream(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Upstream> {
  return listen(createServer({ keepAliveTimeout: 60_000 }, answer));
}

/** A server that speaks bytes: `onHead` is called when the head of a request is there. */
function rawUpstream(onHead: (socket: Socket, count: number) => unknown): Promise<Upstream> {
  let count = 0;
  const server = createTcpServer((socket) => {
    let seen = "";
    socket.on("data", (chunk) => {
      seen += chunk.toString("latin1");
      const end = seen.indexOf("\r\n\r\n");
      if (end < 0) return;
      seen = "";
      onHead(socket, count++);
    });
  });
  return listen(server);
}

function sender(limits: Partial<SenderLimits> = {}, allow = "", resolve?: Resolve): Sender {
  const made = createSender({ guard: createEgressGuard({ allow, ...(resolve === undefined ? {} : { resolve }) }), limits });
  cleanups.push(() => made.close());
  return made;
}

function to(origin: string, more: Partial<SendRequest> = {}): SendRequest {
  const url = { origin, path: "/v1/x?y=1" };
  return { method: "GET", url, headers: {}, body: null, connectTimeoutMs: 5_000, headersTimeoutMs: 5_000, trusted: true, ...more };
}

const post = (origin: string, more: Partial<SendRequest> = {}) => to(origin, { method: "POST", body: Buffer.from('{"a":1}'), ...more });

function answered(outcome: Exchange | SendFailure): Exchange {
  if (outcome.kind === "failed") throw new Error(`failed: ${outcome.code}`, { cause: outcome.cause });
  return outcome;
}

async function textOf(outcome: Exchange | SendFailure): Promise<string> {
  const body = await answered(outcome).readAll(1 << 26);
  if (!Buffer.isBuffer(body)) throw new Error(`failed: ${body.code}`, { cause: body.cause });
  return body.toString();
}

const get = async (from: Sender, request: SendRequest) => textOf(await from.send(request, backgroundCall()));

/** A call and how many listen for its cancellation. */
function cancellable(): { call: Call; cancel: (reason?: CancelReason) => void; listeners: () => number } {
  let listeners = 0;
  class Counted extends CancelToken {
    override onCancel(listener: (reason: CancelReason) => void): () => void {
      listeners += 1;
      const stop = super.onCancel(listener);
      return () => {
        listeners -= 1;
        stop();
      };
    }
  }
  const cancel = new Counted();
  return { call: { ...backgroundCall(), cancel }, cancel: (reason = "client_gone") => cancel.cancel(reason), listeners: () => listeners };
}

/** Takes a body and notes what came. */
class Recorder implements BodyConsumer {
  chunks: Buffer[] = [];
  outcome: "end" | SendFailure | null = null;
  onData(chunk: Buffer): void {
    expect(this.outcome).toBeNull();
    this.chunks.push(chunk);
  }
  onEnd(): void {
    expect(this.outcome).toBeNull();
    this.outcome = "end";
  }
  onError(failure: SendFailure): void {
    expect(this.outcome).toBeNull();
    this.outcome = failure;
  }
  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }
  get length(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  }
}

function record(exchange: Exchange): Recorder {
  const recorder = new Recorder();
  exchange.consume(recorder);
  return recorder;
}

function closeOf(socket: Socket | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (socket === undefined || socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
}

describe("an answer", () => {
  test("has a status, headers, a body", async () => {
    const { origin } = await upstream((request, response) => {
      response.writeHead(201, [
        ["Content-Type", "text/plain"],
        ["X-Many", "a"],
        ["x-many", "b"],
        ["constructor", "c"],
      ]);
      response.end([request.method, request.url, request.headers["x-sent"], request.headers.host].join(" "));
    });
    const from = sender();
    const exchange = answered(await from.send(to(origin, { headers: { "x-sent": "yes" } }), backgroundCall()));
    expect(exchange.status).toBe(201);
    expect(exchange.headers).toMatchObject({ "content-type": "text/plain", "x-many": "a, b", constructor: "c" });
    expect(exchange.headers["toString"]).toBeUndefined();
    expect(exchange.rawHeaders.slice(0, 6)).toEqual(["Content-Type", "text/plain", "X-Many", "a", "x-many", "b"]);
    expect(Number.isInteger(exchange.upstreamMs)).toBe(true);
    expect(exchange.bytesSent).toBe(true);
    expect(await textOf(exchange)).toBe(`GET /v1/x?y=1 yes ${origin.slice(7)}`);
    expect(from.stats()).toEqual({ open: 0, connections: 1, connects: 1, reuses: 0, resends: 0, origins: 1 });
  });

  test("takes a URL object and a list of headers", async () => {
    const { origin } = await upstream((request, response) =>
      response.end([request.url, request.headers["x-a"], request.headers["x-b"]].join(" ")),
    );
    expect(await get(sender(), to(origin, { url: new URL(`${origin}/p%20q?r=s`), headers: ["X-A", "1", "x-b", "2"] }))).toBe(
      "/p%20q?r=s 1 2",
    );
  });

  test("carries a body with its length", async () => {
    const { origin } = await upstream((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => response.end(`${request.headers["content-length"]} ${Buffer.concat(chunks).toString()}`));
    });
    expect(await get(sender(), post(origin))).toBe('7 {"a":1}');
  });

  test.each([301, 302, 303, 307, 308])("of status %i is not followed", async (status) => {
    let requests = 0;
    const { origin } = await upstream((_request, response) => {
      requests += 1;
      response.writeHead(status, { location: "http://169.254.169.254/latest/" }).end("moved");
    });
    const exchange = answered(await sender().send(post(origin), backgroundCall()));
    expect(exchange.status).toBe(status);
    expect(exchange.headers["location"]).toBe("http://169.254.169.254/latest/");
    expect(await textOf(exchange)).toBe("moved");
    expect(requests).toBe(1);
  });

  test("without a body is whole, and hints before it are skipped", async () => {
    const { origin } = await rawUpstream((socket) => {
      socket.write("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 204 No Content\r\nx-final: yes\r\n\r\n");
    });
    const exchange = answered(await sender().send(to(origin), backgroundCall()));
    expect([exchange.status, exchange.headers["x-final"], exchange.headers["link"]]).toEqual([204, "yes", undefined]);
    expect(await textOf(exchange)).toBe("");
  });

  test("is not decoded", async () => {
    const { origin } = await upstream((_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("not gzip"));
    expect(await get(sender(), to(origin))).toBe("not gzip");
  });

  test("that arrives in one read or in bytes is the same", async () => {
    const answer =
      "HTTP/1.1 200 OK\r\nX-Long-Name: some value\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nx-trailer: 1\r\n\r\n";
    const { origin } = await rawUpstream(async (socket, count) => {
      if (count === 0) return void socket.write(answer);
      for (const byte of answer) {
        socket.write(byte);
        await new Promise(setImmediate);
      }
    });
    const from = sender();
    for (let round = 0; round < 2; round++) {
      const exchange = answered(await from.send(to(origin), backgroundCall()));
      expect(exchange.headers).toEqual({ "x-long-name": "some value", "transfer-encoding": "chunked" });
      expect(exchange.rawHeaders).toEqual(["X-Long-Name", "some value", "transfer-encoding", "chunked"]);
      expect(await textOf(exchange)).toBe("hello world");
    }
  });

  test("can be taken only once", async () => {
    const { origin } = await upstream((_request, response) => response.end("x"));
    const exchange = answered(await sender().send(to(origin), backgroundCall()));
    record(exchange);
    expect(() => exchange.consume(new Recorder())).toThrow("only once");
    await expect(exchange.readAll(1)).rejects.toThrow("only once");
  });

  test("that nobody takes yet is kept, and read no further than its bound", async () => {
    const total = 32 * 1024 * 1024;
    const { origin, sockets } = await upstream((_request, response) => {
      response.writeHead(200, { "content-length": total });
      response.write(Buffer.alloc(total, "x"));
      response.end();
    });
    const exchange = answered(await sender().send(to(origin), backgroundCall()));
    const left = await stalledAt(() => sockets[0]?.writableLength ?? 0);
    expect(left).toBeGreaterThan(total / 2);
    expect(await exchange.readAll(total)).toHaveLength(total);
  });

  test("larger than the reader allows is given up", async () => {
    const { origin, sockets } = await upstream((_request, response) => {
      response.write("x".repeat(600));
      setImmediate(() => response.write("x".repeat(600)));
    });
    const exchange = answered(await sender().send(to(origin), backgroundCall()));
    expect(await exchange.readAll(1000)).toMatchObject({ kind: "failed", code: "too_large", bytesSent: true });
    await closeOf(sockets[0]);
  });
});

/** The value once it has stopped changing: polled until ten looks in a row agree. */
async function stalledAt(value: () => number): Promise<number> {
  let last = Number.NaN;
  let same = 0;
  await vi.waitFor(
    () => {
      const now = value();
      same = now === last ? same + 1 : 0;
      last = now;
      expect(same).toBeGreaterThanOrEqual(10);
    },
    { timeout: 15_000, interval: 10 },
  );
  return last;
}

describe("connections", () => {
  test("are kept and used again", async () => {
    const { origin, sockets } = await upstream((_request, response) => response.end("x"));
    const from = sender();
    for (let count = 0; count < 20; count++) expect(await get(from, post(origin))).toBe("x");
    expect(sockets).toHaveLength(1);
    expect(from.stats()).toMatchObject({ connects: 1, reuses: 19, connections: 1 });
  });

  test("serve a hundred at once, each its own answer", async () => {
    const { origin, sockets } = await upstream((request, response) => {
      setImmediate(() => response.end(request.headers["x-number"]));
    });
    const from = sender();
    const numbers = Array.from({ length: 100 }, (_, index) => String(index));
    for (let round = 0; round < 3; round++) {
      expect(await Promise.all(numbers.map((number) => get(from, post(origin, { headers: { "x-number": number } }))))).toEqual(numbers);
    }
    expect(sockets.length).toBe(100);
    expect(from.stats()).toMatchObject({ open: 0, connections: 100, connects: 100 });
  });

  test("are bounded, and the rest waits in turn", async () => {
    const order: string[] = [];
    let busy = 0;
    let most = 0;
    const { origin, sockets } = await upstream((request, response) => {
      order.push(String(request.headers["x-number"]));
      most = Math.max(most, ++busy);
      setTimeout(() => {
        busy -= 1;
        response.end();
      }, 5);
    });
    const from = sender({ connectionsPerOrigin: 3 });
    const numbers = Array.from({ length: 20 }, (_, index) => String(index));
    await Promise.all(numbers.map((number) => get(from, to(origin, { headers: { "x-number": number } }))));
    expect([most, sockets.length]).toEqual([3, 3]);
    expect(order).toEqual(numbers);
  });

  test("that close are made anew for those that wait", async () => {
    const { origin, sockets } = await upstream((_request, response) => response.writeHead(200, { connection: "close" }).end("x"));
    const from = sender({ connectionsPerOrigin: 2 });
    const answers = await Promise.all(Array.from({ length: 9 }, () => get(from, post(origin))));
    expect(answers).toEqual(Array(9).fill("x"));
    expect(sockets).toHaveLength(9);
    await vi.waitFor(() => expect(from.stats().connections).toBe(0));
  });

  test("waited for in vain are a connect timeout; a failure makes room", async () => {
    let release = () => {};
    const { origin } = await upstream((_request, response) => {
      release = () => response.destroy();
    });
    const from = sender({ connectionsPerOrigin: 1 });
    const first = from.send(to(origin), backgroundCall());
    expect(await from.send(to(origin, { connectTimeoutMs: 20 }), backgroundCall())).toMatchObject({
      code: "connect_timeout",
      bytesSent: false,
    });
    const { call, cancel, listeners } = cancellable();
    const waiting = from.send(to(origin), call);
    expect(listeners()).toBe(1);
    cancel();
    expect(await waiting).toMatchObject({ code: "cancelled", bytesSent: false, cause: "client_gone" });
    const last = from.send(to(origin, { headersTimeoutMs: 30 }), backgroundCall());
    release();
    expect(await first).toMatchObject({ code: "reset", bytesSent: true });
    expect(await last).toMatchObject({ code: "headers_timeout" });
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
  });

  test("idle for too long close", async () => {
    const { origin, sockets } = await upstream((_request, response) => response.end("x"));
    const from = sender({ keepAliveMs: 50 });
    await get(from, to(origin));
    await closeOf(sockets[0]);
    await vi.waitFor(() => expect(from.stats().connections).toBe(0));
    expect(await get(from, to(origin))).toBe("x");
  });

  test("of the origin unused longest close when there are too many origins", async () => {
    const servers = await Promise.all([0, 1, 2].map((index) => upstream((_request, response) => response.end(String(index)))));
    const from = sender({ origins: 2 });
    for (const index of [0, 1, 0, 2]) expect(await get(from, to(servers[index]?.origin ?? ""))).toBe(String(index));
    await closeOf(servers[1]?.sockets[0]);
    expect(from.stats()).toMatchObject({ origins: 2, connections: 2 });
    expect(await get(from, to(servers[0]?.origin ?? ""))).toBe("0");
    expect(servers[0]?.sockets).toHaveLength(1);
  });

  test("of an origin that had to go finish their exchange first", async () => {
    let finish = () => {};
    const slow = await upstream((_request, response) => {
      response.write("begin ");
      finish = () => response.end("end");
    });
    const other = await upstream((_request, response) => response.end("other"));
    const from = sender({ origins: 1 });
    const exchange = answered(await from.send(to(slow.origin), backgroundCall()));
    expect(await get(from, to(other.origin))).toBe("other");
    finish();
    expect(await textOf(exchange)).toBe("begin end");
    await closeOf(slow.sockets[0]);
    await vi.waitFor(() => expect(from.stats().connections).toBe(1));
  });

  test("all close with the sender, and what is open is cancelled", async () => {
    const { origin, sockets } = await upstream((request, response) => {
      if (request.headers["x-part"]) response.write("part");
    });
    const from = sender({ connectionsPerOrigin: 2 });
    const waitingForHead = from.send(to(origin), backgroundCall());
    const exchange = answered(await from.send(to(origin, { headers: { "x-part": "1" } }), backgroundCall()));
    const body = exchange.readAll(100);
    const waitingForConnection = from.send(to(origin), backgroundCall());
    from.close();
    const cancelled = { kind: "failed", code: "cancelled", cause: "shutdown" };
    expect(await Promise.all([waitingForHead, body, waitingForConnection])).toMatchObject([cancelled, cancelled, cancelled]);
    await Promise.all(sockets.map(closeOf));
    expect(from.stats()).toMatchObject({ open: 0, connections: 0, origins: 0 });
    expect(await from.send(to(origin), backgroundCall())).toMatchObject(cancelled);
  });
});

describe("a kept connection that is dead", () => {
  const answerOnce = () => upstream((_request, response) => response.end("x"));

  test("and known to be is replaced", async () => {
    const { origin, sockets } = await answerOnce();
    const from = sender();
    await get(from, post(origin));
    sockets[0]?.destroy();
    await vi.waitFor(() => expect(from.stats().connections).toBe(0));
    expect(await get(from, post(origin))).toBe("x");
    expect(from.stats()).toMatchObject({ connects: 2, resends: 0 });
  });

  test("is found out before a POST is written on it, when it was idle", async () => {
    const { origin, sockets } = await answerOnce();
    const from = sender({ idleCheckMs: 0 });
    for (let count = 1; count <= 20; count++) {
      await get(from, post(origin));
      // In the poll phase, where requests come from: the news of the close is read one turn later.
      sockets.at(-1)?.end();
      expect(await get(from, post(origin))).toBe("x");
      expect(sockets).toHaveLength(count + 1);
    }
  });

  test("in the very write takes no byte, so a POST is sent again, once, on a new one", async () => {
    const { origin, sockets } = await answerOnce();
    const from = sender();
    await Promise.all([get(from, post(origin)), get(from, post(origin))]);
    expect(sockets).toHaveLength(2);
    for (const socket of sockets) socket.resetAndDestroy();
    expect(await get(from, post(origin))).toBe("x");
    expect(sockets).toHaveLength(3);
    expect(from.stats()).toMatchObject({ resends: 1, open: 0 });
  });

  test("that had taken the request is not sent to again", async () => {
    let requests = 0;
    const { origin } = await rawUpstream((socket) => {
      requests += 1;
      if (requests === 1) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx");
      else socket.resetAndDestroy();
    });
    const from = sender();
    await get(from, post(origin));
    expect(await from.send(post(origin), backgroundCall())).toMatchObject({ code: "reset", bytesSent: true });
    expect(requests).toBe(2);
    expect(from.stats()).toMatchObject({ resends: 0, connections: 0 });
  });

  test("is not replaced for a request that was cancelled meanwhile", async () => {
    const { origin, sockets } = await answerOnce();
    const from = sender({ idleCheckMs: 0 });
    await get(from, post(origin));
    const { call, cancel } = cancellable();
    const outcome = from.send(post(origin), call);
    cancel();
    expect(await outcome).toMatchObject({ code: "cancelled", bytesSent: false });
    await closeOf(sockets[0]);
    expect(from.stats()).toMatchObject({ open: 0, connections: 0, connects: 1 });
  });
});

describe("an answer that breaks off", () => {
  test.each<[what: string, head: string, body: string, code: string]>([
    ["short of its length", "content-length: 100\r\n", "half", "reset"],
    ["short of its length, closing", "content-length: 100\r\nconnection: close\r\n", "half", "reset"],
    ["inside a chunk", "transfer-encoding: chunked\r\n", "10\r\nhalf", "reset"],
    ["between chunks", "transfer-encoding: chunked\r\n", "4\r\nhalf\r\n", "reset"],
    ["between chunks, closing", "transfer-encoding: chunked\r\nconnection: close\r\n", "4\r\nhalf\r\n", "reset"],
    ["before the last line of the chunks", "transfer-encoding: chunked\r\n", "4\r\nhalf\r\n0\r\n", "reset"],
    ["with a wrong chunk", "transfer-encoding: chunked\r\n", "4\r\nhalf\r\nzz\r\n", "unreadable"],
  ])("%s is an error, never an end", async (_what, head, body, code) => {
    for (const end of ["end", "resetAndDestroy"] as const) {
      const { origin } = await rawUpstream((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n${body}`, () => setImmediate(() => setImmediate(() => socket[end]())));
      });
      const from = sender();
      const exchange = answered(await from.send(to(origin), backgroundCall()));
      const recorder = record(exchange);
      await vi.waitFor(() => expect(recorder.outcome).not.toBeNull());
      expect(recorder.outcome).toMatchObject({ kind: "failed", code, bytesSent: true });
      expect(recorder.text).toBe("half");
      expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
    }
  });

  /** Answers, leaves the rest of the request unread: destroying such a socket sends a reset, and no end before it. */
  const answeringUnread = (bytes: string) =>
    rawUpstream((socket) => {
      socket.pause();
      socket.write(bytes);
    });
  const large = { body: Buffer.alloc(8 * 1024 * 1024) };

  test("a body that only the close ends: a close is its end, a reset is an error", async () => {
    const { origin, sockets } = await answeringUnread("HTTP/1.1 200 OK\r\n\r\nsome");
    const from = sender();
    const closed = record(answered(await from.send(to(origin), backgroundCall())));
    await vi.waitFor(() => expect(closed.text).toBe("some"));
    sockets[0]?.end("more");
    await vi.waitFor(() => expect(closed.outcome).toBe("end"));
    expect(closed.text).toBe("somemore");

    const reset = record(answered(await from.send(post(origin, large), backgroundCall())));
    await vi.waitFor(() => expect(reset.text).toBe("some"));
    sockets[1]?.destroy();
    await vi.waitFor(() => expect(reset.outcome).toMatchObject({ code: "reset" }));
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
  });

  const lastingHeads = ["content-length: 9\r\nconnection: close\r\n", "connection: close\r\n", "content-length: 9\r\n"];

  test.each(lastingHeads)("a reset while reading is paused does not end the process (%j)", async (head) => {
    const { origin, sockets } = await answeringUnread(`HTTP/1.1 200 OK\r\n${head}\r\nhello`);
    const from = sender();
    const exchange = answered(await from.send(post(origin, large), backgroundCall()));
    const recorder = new Recorder();
    recorder.onData = (chunk) => {
      recorder.chunks.push(chunk);
      exchange.pause();
    };
    exchange.consume(recorder);
    await vi.waitFor(() => expect(recorder.text).toBe("hello"));
    sockets[0]?.destroy();
    await vi.waitFor(() => expect(from.stats().open).toBe(0));
    expect(recorder.outcome).toBeNull();
    exchange.resume();
    expect(recorder.outcome).toMatchObject({ code: "reset" });
  });

  test.each(lastingHeads)("a close while reading is paused does not end the process, nor lose what had come (%j)", async (head) => {
    const { origin, sockets } = await rawUpstream((socket) => socket.write(`HTTP/1.1 200 OK\r\n${head}\r\nhello`));
    const from = sender();
    for (const rest of ["more", "mo"]) {
      const exchange = answered(await from.send(to(origin), backgroundCall()));
      const recorder = new Recorder();
      recorder.onData = (chunk) => {
        recorder.chunks.push(chunk);
        exchange.pause();
      };
      exchange.consume(recorder);
      await vi.waitFor(() => expect(recorder.text).toBe("hello"));
      exchange.resume();
      sockets.at(-1)?.write(rest);
      await vi.waitFor(() => expect(recorder.text).toBe(`hello${rest}`));
      sockets.at(-1)?.end();
      await closeOf(sockets.at(-1));
      await vi.waitFor(() => expect(from.stats()).toMatchObject({ open: 0, connections: 0 }));
      expect(recorder.outcome).toBeNull();
      exchange.resume();
      if (rest === "more" || !head.includes("length")) expect(recorder.outcome).toBe("end");
      else expect(recorder.outcome).toMatchObject({ code: "reset" });
      expect(recorder.text).toBe(`hello${rest}`);
    }
  });

  test("before its head is a reset", async () => {
    const { origin } = await rawUpstream((socket) => socket.end("HTTP/1.1 200"));
    expect(await sender().send(post(origin), backgroundCall())).toMatchObject({ code: "reset", bytesSent: true });
  });

  test.each([
    ["is not HTTP", "SSH-2.0-OpenSSH_9.0\r\n\r\n"],
    ["has a length that is none", "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\nxx"],
    ["has a head that is too large", `HTTP/1.1 200 OK\r\nx-large: ${"x".repeat(5000)}\r\n\r\n`],
  ])("or %s is unreadable", async (_what, bytes) => {
    const { origin } = await rawUpstream((socket) => socket.write(bytes));
    expect(await sender({ maxHeaderBytes: 4096 }).send(post(origin), backgroundCall())).toMatchObject({ code: "unreadable" });
  });

  test("because its reader threw is unreadable, with what it threw", async () => {
    const { origin, sockets } = await rawUpstream((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\ndata: ${"x".repeat(100)}`);
    });
    const from = sender();
    for (const late of [false, true]) {
      const exchange = answered(await from.send(to(origin), backgroundCall()));
      const recorder = new Recorder();
      const parser = createSseParser(() => {}, 150);
      recorder.onData = (chunk) => parser.push(chunk);
      exchange.consume(recorder);
      if (late) exchange.pause();
      sockets.at(-1)?.write("y".repeat(100));
      if (late) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        exchange.resume();
      }
      await vi.waitFor(() => expect(recorder.outcome).toMatchObject({ code: "unreadable", cause: expect.any(FrameTooLargeError) }));
      await closeOf(sockets.at(-1));
    }
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
  });
});

describe("reading slowly", () => {
  test("a pause stops the socket; nothing comes meanwhile, nothing is lost", async () => {
    const total = 64 * 1024 * 1024;
    const { origin, sockets } = await upstream((_request, response) => {
      response.writeHead(200, { "content-length": total });
      response.write(Buffer.alloc(total, "x"));
      response.end();
    });
    const exchange = answered(await sender().send(to(origin), backgroundCall()));
    const recorder = new Recorder();
    const pauses: number[] = [];
    let taken = 0;
    recorder.onData = (chunk) => {
      expect(pauses.length % 2).toBe(0);
      taken += chunk.length;
      if (pauses.length === 0) {
        pauses.push(taken);
        exchange.pause();
      }
    };
    exchange.consume(recorder);
    const left = await stalledAt(() => sockets[0]?.writableLength ?? 0);
    expect(taken).toBe(pauses[0]);
    expect(left).toBeGreaterThan(total / 2);
    pauses.push(0);
    exchange.resume();
    await vi.waitFor(() => expect(recorder.outcome).toBe("end"), { timeout: 15_000 });
    expect(taken).toBe(total);
  });

  test("pausing and resuming at once, within a chunk or between, changes nothing", async () => {
    const { origin } = await upstream((_request, response) => {
      for (let count = 0; count < 200; count++) response.write(`${count},`);
      response.end();
    });
    const expected = Array.from({ length: 200 }, (_, index) => `${index},`).join("");
    const exchange = answered(await sender().send(to(origin), backgroundCall()));
    let text = "";
    let count = 0;
    const outcome = await new Promise((resolve) => {
      exchange.consume({
        onData(chunk) {
          text += chunk.toString();
          count += 1;
          exchange.pause();
          if (count % 3 === 0) exchange.resume();
          else if (count % 3 === 1) queueMicrotask(() => exchange.resume());
          else setImmediate(() => exchange.resume());
        },
        onEnd: () => resolve("end"),
        onError: resolve,
      });
    });
    expect([outcome, text]).toEqual(["end", expected]);
  });

  test("one answer may be resumed while another is being parsed", async () => {
    const { origin } = await upstream((_request, response) => {
      response.write("a");
      setTimeout(() => response.end("b"), 10);
    });
    const from = sender();
    const [first, second] = [
      answered(await from.send(to(origin), backgroundCall())),
      answered(await from.send(to(origin), backgroundCall())),
    ];
    const slow = record(first);
    first.pause();
    await new Promise((resolve) => setTimeout(resolve, 30));
    const quick = new Recorder();
    quick.onData = () => first.resume();
    second.consume(quick);
    await vi.waitFor(() => expect([slow.outcome, quick.outcome, slow.text]).toEqual(["end", "end", "ab"]));
  });

  test("as an iterable", async () => {
    const total = 8 * 1024 * 1024;
    const { origin } = await upstream((_request, response) => response.end(Buffer.alloc(total, "x")));
    const exchange = answered(await sender().send(to(origin), backgroundCall()));
    let length = 0;
    for await (const chunk of exchange.body) {
      length += chunk.length;
      await new Promise(setImmediate);
    }
    expect(length).toBe(total);
  });

  test("as an iterable that is left", async () => {
    const { origin, sockets } = await upstream((_request, response) => response.write("endless"));
    const from = sender();
    for await (const chunk of answered(await from.send(to(origin), backgroundCall())).body) {
      expect(chunk.toString()).toBe("endless");
      break;
    }
    await closeOf(sockets[0]);
    expect(from.stats().open).toBe(0);
  });

  test("as an iterable of a body that breaks off", async () => {
    const { origin } = await rawUpstream((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"));
    const chunks: string[] = [];
    const read = async () => {
      for await (const chunk of answered(await sender().send(to(origin), backgroundCall())).body) chunks.push(chunk.toString());
    };
    await expect(read()).rejects.toMatchObject({ constructor: SendError, failure: { code: "reset" } });
    expect(chunks).toEqual(["half"]);
  });
});

describe("a request body that streams", () => {
  const echo = () =>
    upstream((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("error", () => {});
      request.on("end", () =>
        response.end(`${request.headers["transfer-encoding"] ?? request.headers["content-length"]} ${Buffer.concat(chunks).toString()}`),
      );
    });

  async function* parts(...texts: string[]): AsyncGenerator<Buffer> {
    for (const text of texts) {
      await new Promise(setImmediate);
      yield Buffer.from(text);
    }
  }

  test("is sent in chunks, or with the length that is given", async () => {
    const { origin } = await echo();
    const from = sender();
    expect(await get(from, post(origin, { body: parts("a", "b", "c") }))).toBe("chunked abc");
    expect(await get(from, post(origin, { body: parts("a", "b"), headers: { "content-length": "2" } }))).toBe("2 ab");
    expect(from.stats()).toMatchObject({ connects: 1, reuses: 1 });
  });

  test("is read only as fast as the upstream takes it", async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      for (;;) {
        read += 65_536;
        yield Buffer.alloc(65_536);
      }
    }
    const { origin } = await listen(createTcpServer((socket) => socket.pause()));
    const { call, cancel } = cancellable();
    const outcome = sender().send(post(origin, { body: endless() }), call);
    expect(await stalledAt(() => read)).toBeLessThan(32 * 1024 * 1024);
    cancel();
    expect(await outcome).toMatchObject({ code: "cancelled", bytesSent: true });
  });

  test("that fails ends the exchange, and the iterable", async () => {
    const { origin, sockets } = await echo();
    let ended = false;
    async function* failing(): AsyncGenerator<Buffer> {
      try {
        yield Buffer.from("a");
        throw new Error("the client went");
      } finally {
        ended = true;
      }
    }
    expect(await sender().send(post(origin, { body: failing() }), backgroundCall())).toMatchObject({
      code: "request_body",
      cause: { cause: { message: "the client went" } },
    });
    expect(ended).toBe(true);
    await closeOf(sockets[0]);
  });

  test("is ended when nobody is there to take it", async () => {
    const { origin, port } = await listen(createTcpServer());
    let ended = false;
    async function* body(): AsyncGenerator<Buffer> {
      try {
        yield Buffer.from("a");
        yield Buffer.from("b");
      } finally {
        ended = true;
      }
    }
    const refusedPort = await freePort();
    expect(refusedPort).not.toBe(port);
    expect(await sender().send(post(`http://127.0.0.1:${refusedPort}`, { body: body() }), backgroundCall())).toMatchObject({
      code: "unreachable",
      bytesSent: false,
    });
    expect(ended).toBe(false);
    const { call, cancel } = cancellable();
    const outcome = sender().send(post(origin, { body: body() }), call);
    await vi.waitFor(() => expect(ended).toBe(true));
    cancel();
    expect(await outcome).toMatchObject({ code: "cancelled", bytesSent: true });
  });

  test("of which not all is wanted: the early answer counts", async () => {
    const { origin } = await rawUpstream((socket) =>
      socket.end("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno"),
    );
    async function* slow(): AsyncGenerator<Buffer> {
      yield Buffer.from("a");
      await new Promise((resolve) => setTimeout(resolve, 100));
      yield Buffer.from("b");
    }
    const exchange = answered(await sender().send(post(origin, { body: slow() }), backgroundCall()));
    expect(exchange.status).toBe(413);
    expect(await textOf(exchange)).toBe("no");
  });
});

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A port whose queue of connections is full and never emptied: the next one is neither made nor refused. */
async function blackHole(): Promise<string> {
  const worker = new Worker(
    `const { createServer } = require("node:net");
     const { parentPort } = require("node:worker_threads");
     const server = createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
     });`,
    { eval: true },
  );
  cleanups.push(() => worker.terminate());
  const [port] = (await once(worker, "message")) as [number];
  const { connect } = await import("node:net");
  const fillers = Array.from({ length: 8 }, () => connect({ port, host: "127.0.0.1" }).on("error", () => {}));
  cleanups.push(() => fillers.forEach((socket) => socket.destroy()));
  await vi.waitFor(() => expect(fillers.filter((socket) => !socket.connecting).length).toBeGreaterThan(0));
  await stalledAt(() => fillers.filter((socket) => socket.connecting).length);
  expect(fillers.some((socket) => socket.connecting)).toBe(true);
  return `http://127.0.0.1:${port}`;
}

describe("timeouts", () => {
  test("no head in time", async () => {
    const { origin, sockets } = await upstream(() => {});
    const from = sender();
    expect(await from.send(post(origin, { headersTimeoutMs: 30 }), backgroundCall())).toMatchObject({
      code: "headers_timeout",
      bytesSent: true,
    });
    await closeOf(sockets[0]);
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
  });

  test("a head in time, a slow body", async () => {
    const { origin } = await upstream((_request, response) => {
      response.write("a");
      setTimeout(() => response.end("b"), 80);
    });
    expect(await get(sender(), to(origin, { headersTimeoutMs: 40 }))).toBe("ab");
  });

  test("no connection in time", async () => {
    const origin = await blackHole();
    const from = sender();
    expect(await from.send(post(origin, { connectTimeoutMs: 50 }), backgroundCall())).toMatchObject({
      code: "connect_timeout",
      bytesSent: false,
    });
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
  });

  test("no name resolution in time", async () => {
    const from = sender({}, "", () => new Promise(() => {}));
    const outcome = from.send(post("https://example.com", { trusted: false, connectTimeoutMs: 30 }), backgroundCall());
    expect(await outcome).toMatchObject({ code: "connect_timeout", bytesSent: false });
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
  });

  test("0 is none", async () => {
    const { origin } = await upstream((_request, response) => void setTimeout(() => response.end("x"), 50));
    const exchange = answered(await sender().send(to(origin, { connectTimeoutMs: 0, headersTimeoutMs: 0 }), backgroundCall()));
    expect(exchange.upstreamMs).toBeGreaterThanOrEqual(45);
    expect(await textOf(exchange)).toBe("x");
  });
});

describe("no connection", () => {
  test("to a closed port", async () => {
    const origin = `http://127.0.0.1:${await freePort()}`;
    const from = sender();
    expect(await from.send(post(origin), backgroundCall())).toMatchObject({
      code: "unreachable",
      bytesSent: false,
      cause: { code: "ECONNREFUSED" },
    });
    expect(from.stats()).toMatchObject({ open: 0, connections: 0, resends: 0 });
  });

  test("to a name without an address", async () => {
    const outcome = sender({}, "", async () => []).send(post("http://example.com", { trusted: false }), backgroundCall());
    expect(await outcome).toMatchObject({ code: "unreachable", bytesSent: false, cause: { code: "ENOTFOUND" } });
  });
});

describe("cancelling", () => {
  const cancelled = (bytesSent: boolean) => ({ kind: "failed", code: "cancelled", bytesSent, cause: "client_gone" });

  test("before sending: nothing is sent", async () => {
    const { origin, sockets } = await upstream((_request, response) => response.end());
    const { call, cancel } = cancellable();
    cancel();
    expect(await sender().send(post(origin), call)).toMatchObject(cancelled(false));
    expect(sockets).toHaveLength(0);
  });

  test("while a name is resolved", async () => {
    let resolving = false;
    const from = sender({}, "", () => {
      resolving = true;
      return new Promise(() => {});
    });
    const { call, cancel, listeners } = cancellable();
    const outcome = from.send(post("http://example.com", { trusted: false }), call);
    await vi.waitFor(() => expect(resolving).toBe(true));
    cancel();
    expect(await outcome).toMatchObject(cancelled(false));
    expect(listeners()).toBe(0);
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
  });

  test("while connecting", async () => {
    const from = sender();
    const { call, cancel, listeners } = cancellable();
    const outcome = from.send(post(await blackHole()), call);
    await new Promise(setImmediate);
    cancel();
    expect(await outcome).toMatchObject(cancelled(false));
    expect(listeners()).toBe(0);
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
  });

  test("in the TLS handshake", async () => {
    const { origin, sockets } = await listen(createTcpServer((socket) => socket.resume()));
    const from = sender();
    const { call, cancel } = cancellable();
    const outcome = from.send(post(origin.replace("http:", "https:")), call);
    await vi.waitFor(() => expect(sockets).toHaveLength(1));
    cancel();
    expect(await outcome).toMatchObject(cancelled(false));
    await closeOf(sockets[0]);
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
  });

  test("while waiting for the head", async () => {
    let asked = false;
    const { origin, sockets } = await upstream(() => {
      asked = true;
    });
    const from = sender();
    const { call, cancel, listeners } = cancellable();
    const outcome = from.send(post(origin), call);
    await vi.waitFor(() => expect(asked).toBe(true));
    const at = performance.now();
    cancel();
    expect(await outcome).toMatchObject(cancelled(true));
    await closeOf(sockets[0]);
    expect(performance.now() - at).toBeLessThan(100);
    expect(listeners()).toBe(0);
  });

  test("inside the body: told at once, the socket closes", async () => {
    const { origin, sockets } = await upstream((_request, response) => response.write("part"));
    const from = sender();
    const { call, cancel, listeners } = cancellable();
    const recorder = record(answered(await from.send(post(origin), call)));
    await vi.waitFor(() => expect(recorder.text).toBe("part"));
    const at = performance.now();
    cancel();
    expect(recorder.outcome).toMatchObject(cancelled(true));
    await closeOf(sockets[0]);
    expect(performance.now() - at).toBeLessThan(100);
    expect([listeners(), from.stats().open, from.stats().connections]).toEqual([0, 0, 0]);
  });

  test("between head and reader, while paused, from within the reader, and by the exchange itself", async () => {
    const { origin, sockets } = await upstream((_request, response) => response.write("part"));
    const from = sender();

    const early = cancellable();
    const unread = answered(await from.send(post(origin), early.call));
    early.cancel();
    expect(record(unread).outcome).toMatchObject(cancelled(true));

    const paused = cancellable();
    const waiting = answered(await from.send(post(origin), paused.call));
    waiting.pause();
    const silent = record(waiting);
    paused.cancel();
    expect([silent.outcome, silent.text]).toMatchObject([cancelled(true), ""]);

    const within = cancellable();
    const inside = answered(await from.send(post(origin), within.call));
    const recorder = new Recorder();
    recorder.onData = () => within.cancel();
    inside.consume(recorder);
    await vi.waitFor(() => expect(recorder.outcome).toMatchObject(cancelled(true)));

    const given = answered(await from.send(post(origin), backgroundCall()));
    const given2 = record(given);
    given.cancel();
    given.cancel("shutdown");
    expect(given2.outcome).toMatchObject({ code: "cancelled", cause: "superseded" });

    await Promise.all(sockets.map(closeOf));
    expect(sockets).toHaveLength(4);
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
  });

  test("after the end changes nothing", async () => {
    const { origin, sockets } = await upstream((_request, response) => response.end("x"));
    const from = sender();
    const { call, cancel, listeners } = cancellable();
    const exchange = answered(await from.send(post(origin), call));
    expect(await textOf(exchange)).toBe("x");
    expect(listeners()).toBe(0);
    cancel();
    exchange.cancel();
    expect(await get(from, post(origin))).toBe("x");
    expect(sockets).toHaveLength(1);
  });

  test("one of many leaves the others alone", async () => {
    const { origin } = await upstream((_request, response) => void setTimeout(() => response.end("x"), 30));
    const from = sender();
    const calls = Array.from({ length: 40 }, cancellable);
    const outcomes = calls.map(({ call }) => from.send(post(origin), call));
    setTimeout(() => calls.forEach(({ cancel }, index) => index % 2 === 0 && cancel()), 10);
    const texts = await Promise.all(
      outcomes.map(async (outcome) => ((await outcome).kind === "failed" ? "cancelled" : textOf(await outcome))),
    );
    expect(texts).toEqual(calls.map((_, index) => (index % 2 === 0 ? "cancelled" : "x")));
    expect(from.stats().open).toBe(0);
  });
});

describe("addresses from users", () => {
  const guarded = (origin: string, more: Partial<SendRequest> = {}) => post(origin, { trusted: false, ...more });
  const refused = { kind: "failed", code: "refused_address", bytesSent: false };

  test("literal private addresses are refused without a connection, whatever a trusted request did", async () => {
    const { origin, sockets } = await upstream((_request, response) => response.end("x"));
    const from = sender();
    expect(await get(from, post(origin))).toBe("x");
    expect(await from.send(guarded(origin), backgroundCall())).toMatchObject(refused);
    expect(sockets).toHaveLength(1);
  });

  test("allowed ones pass, on connections of their own", async () => {
    const { origin, sockets } = await upstream((_request, response) => response.end("x"));
    const from = sender({}, "127.0.0.0/8");
    expect(await get(from, post(origin))).toBe("x");
    expect(await get(from, guarded(origin))).toBe("x");
    expect(await get(from, guarded(origin))).toBe("x");
    expect(sockets).toHaveLength(2);
  });

  test.each(["http://169.254.169.254", "http://metadata.google.internal", "http://[fd00:ec2::254]", "http://100.100.100.200"])(
    "%s is refused whatever is allowed",
    async (origin) => {
      const from = sender({}, "0.0.0.0/0,::/0,metadata.google.internal", () => Promise.reject(new Error("resolved")));
      expect(await from.send(guarded(origin), backgroundCall())).toMatchObject(refused);
    },
  );

  test("a name that leads to a forbidden address is refused at the connection", async () => {
    const { port, sockets } = await upstream((_request, response) => response.end("x"));
    const from = sender({}, "", async () => [{ address: "127.0.0.1", family: 4 }]);
    const outcome = await from.send(guarded(`http://example.com:${port}`), backgroundCall());
    expect(outcome).toMatchObject({ ...refused, cause: { message: expect.stringContaining("127.0.0.1") } });
    expect(from.stats()).toMatchObject({ open: 0, connections: 0 });
    expect(sockets).toHaveLength(0);
  });

  test("a name that changes between check and connection cannot lead elsewhere", async () => {
    const { port, sockets } = await upstream((_request, response) => response.writeHead(200, { connection: "close" }).end("x"));
    const answers = ["127.0.0.1", "127.0.0.2", "169.254.169.254"];
    let asked = 0;
    const from = sender({}, "127.0.0.1", async () => [{ address: answers[asked++] ?? "", family: 4 }]);
    const request = guarded(`http://example.com:${port}`);
    expect(await get(from, request)).toBe("x");
    expect([asked, sockets.length]).toEqual([1, 1]);
    expect(await from.send(request, backgroundCall())).toMatchObject(refused);
    expect(await from.send(request, backgroundCall())).toMatchObject(refused);
    expect([asked, sockets.length]).toEqual([3, 1]);
  });

  test("one forbidden answer among allowed ones is enough", async () => {
    const { port, sockets } = await upstream((_request, response) => response.end("x"));
    const from = sender({}, "127.0.0.1", async () => [
      { address: "127.0.0.1", family: 4 },
      { address: "10.0.0.1", family: 4 },
    ]);
    expect(await from.send(guarded(`http://example.com:${port}`), backgroundCall())).toMatchObject(refused);
    expect(sockets).toHaveLength(0);
  });
});

describe("what cannot be sent", () => {
  test.each<[what: string, request: Partial<SendRequest>]>([
    ["a line break in a value", { headers: { authorization: "Bearer a\r\nx-evil: 1" } }],
    ["a bad name", { headers: { "bad name": "1" } }],
    ["a host of one's own", { headers: { Host: "evil.example" } }],
    ["a host in a list", { headers: ["x-a", "host", "HOST", "evil.example"] }],
    ["hop-by-hop headers", { headers: { "transfer-encoding": "chunked" } }],
    ["expect", { headers: { expect: "100-continue" } }],
    ["a wrong length", { headers: { "content-length": "3" } }],
    ["a line break in the path", { url: { origin: "", path: "/a\r\nx-evil: 1" } }],
    ["a space in the path", { url: { origin: "", path: "/a b" } }],
    ["a path without a slash", { url: { origin: "", path: "a" } }],
    ["a bad method", { method: "GE T" }],
  ])("%s", async (_what, request) => {
    const { origin, sockets } = await upstream((_request, response) => response.end("x"));
    const from = sender();
    expect(await get(from, post(origin, { headers: { "x-a": "host" } }))).toBe("x");
    const url = request.url === undefined || request.url instanceof URL ? { origin, path: "/" } : { origin, path: request.url.path };
    const outcome = await from.send(post(origin, { ...request, url }), backgroundCall());
    expect(outcome).toMatchObject({ kind: "failed", code: "invalid_request", bytesSent: false });
    expect(await get(from, post(origin))).toBe("x");
    expect(sockets.length).toBeLessThanOrEqual(2);
    expect(from.stats().open).toBe(0);
  });

  test.each([
    "ftp://example.com",
    "http://example.com/",
    "http://example.com:80",
    "example.com",
    "",
    "http://EXAMPLE.com",
    "http://example.com/path",
  ])("an origin such as %j", async (origin) => {
    for (const trusted of [true, false]) {
      expect(await sender().send(to(origin, { trusted }), backgroundCall())).toMatchObject({ code: "invalid_request" });
    }
  });
});
