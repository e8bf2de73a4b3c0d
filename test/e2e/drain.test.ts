import { LoggingDefinition, type LoggingPort } from "@unigate/contracts";
import { type JsonObject, Secret } from "@unigate/core";
import { meshToken, serveGrpc } from "@unigate/rpc";
import {
  chatChunk,
  chatReply,
  chatStreamReply,
  type Gateway,
  gatewayModes,
  hangReply,
  requirement,
  sseReply,
  startGateway,
  startUpstream,
  type Upstream,
  until,
} from "@unigate/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openConnection, QUESTION, type RawConnection, readStream, requestHead, send, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";

const MESH_TOKEN = "the-token-of-this-suite-0123456789";
/** A busy machine included. Draining has 120 s, so what waits for a timer fails. */
const PROMPT_MS = 8_000;

/** A logging service that outlives the gateway: what reached it is there to be looked at. */
async function startLogging() {
  const records: JsonObject[] = [];
  const implementation: Pick<LoggingPort, "append"> = {
    async *append(batches) {
      for await (const batch of batches) {
        records.push(...batch.records.map((record) => JSON.parse(record.toString("utf8")) as JsonObject));
        yield { spoolId: batch.spoolId, offset: batch.offset };
      }
    },
  };
  const server = await serveGrpc({
    listen: "127.0.0.1:0",
    services: [{ definition: LoggingDefinition, implementation }],
    bodyLimit: 20 * 1024 * 1024,
    authenticate: meshToken(new Secret(MESH_TOKEN)).authenticate,
  });
  return {
    address: server.address,
    /** The record of a trace, once it came. */
    record: (traceId: string): Promise<JsonObject> =>
      until(`the record of ${traceId}`, () => records.find((record) => record["trace_id"] === traceId)),
    stop: () => server.drain(0),
  };
}

describe.skipIf(!requirement("long").available).each(gatewayModes)("the end of the gateway, %s", (mode) => {
  let upstream: Upstream;
  let logging: Awaited<ReturnType<typeof startLogging>>;
  let gateway: Gateway;
  const connections: RawConnection[] = [];

  beforeAll(async () => {
    upstream = await startUpstream();
    logging = await startLogging();
  });
  afterAll(async () => {
    await upstream.close();
    await logging.stop();
  });
  beforeEach(() => upstream.reset());
  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.leave();
    await gateway.stop();
  });

  async function start(env: Record<string, string> = {}): Promise<void> {
    // In one process the records are its own and end with it.
    const outlived = mode === "mesh" ? { UNIGATE_MESH_TOKEN: MESH_TOKEN, UNIGATE_LOGGING_ADDR: logging.address } : {};
    gateway = await startGateway({ mode, env: { ...outlived, ...env } });
  }
  /** A request over a connection that the client keeps open. */
  function ask(traceId: string, body: object): RawConnection {
    const text = JSON.stringify({ ...QUESTION, ...body });
    const connection = openConnection(gateway);
    connections.push(connection);
    const headers = { "x-gateway-api-key": gateway.workspaceKey, "x-gateway-trace-id": traceId, ...withConfig(target(upstream.origin)) };
    connection.write(
      requestHead("POST /v1/chat/completions", { ...headers, "content-type": "application/json", "content-length": String(text.length) }) +
        text,
    );
    return connection;
  }
  /** The events of a chunked answer. */
  const streamOf = (connection: RawConnection): ReturnType<typeof readStream> =>
    readStream(
      connection
        .received()
        .replace(/^[^]*?\r\n\r\n/, "")
        .replaceAll(/\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n/g, ""),
    );
  async function refused(): Promise<boolean> {
    const code = await fetch(gateway.origin).then(
      () => "",
      (error: { cause?: { code?: string } }) => error.cause?.code ?? "",
    );
    return code === "ECONNREFUSED";
  }
  const healthOf = async (): Promise<number> => (await send(gateway, "/readyz")).status;

  /** Every process is gone, and nothing was wrong about it. */
  async function expectCleanEnd(within = PROMPT_MS): Promise<void> {
    const started = performance.now();
    expect(await gateway.ended).toBe(0);
    expect(performance.now() - started).toBeLessThan(within);
    expect(gateway.output()).not.toMatch(/Error|"level":(50|60)|"level":"(error|fatal)"/);
    for (const service of ["edge", "connector", "logging", "control"] as const) {
      const id = gateway.pid(service);
      expect(() => process.kill(id ?? 0, 0)).toThrow("ESRCH");
    }
  }

  test("SIGTERM: what runs is finished whole, nothing new is taken, and it ends with 0", async () => {
    await start();
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    upstream.script(chatStreamReply(["first ", gate, "second"]), chatReply("an answer", { before: [gate] }));
    const stream = ask("drained-stream", { stream: true });
    await until("the first word", () => stream.received().includes("first"));
    const unary = ask("drained-unary", {});
    await until("both at the upstream", () => upstream.requests.length === 2);

    gateway.signal("SIGTERM");
    if (mode === "single") {
      // Load balancers have 5 s to see it; what they still send meanwhile is answered.
      await until("not ready", async () => (await healthOf()) === 503);
      upstream.script(chatReply("in time"));
      const late = ask("drained-late", {});
      await until("the answer", () => late.received().includes("in time"));
      await logsOf(gateway, gateway.workspaceKey, "drained-late", 1);
    }
    await until("new connections to be refused", refused);
    expect([stream.closed, unary.closed]).toEqual([false, false]);

    open();
    await until("the whole stream", () => stream.received().endsWith("0\r\n\r\n"));
    expect(streamOf(stream)).toMatchObject({ content: "first second", done: true, error: null });
    await until("the whole answer", () => unary.received().includes("an answer"));
    // Neither client closes its connection.
    await expectCleanEnd();
    if (mode === "mesh") {
      expect(await logging.record("drained-stream")).toMatchObject({ outcome: "success", stream: true, usage: { output_text: 3 } });
      expect(await logging.record("drained-unary")).toMatchObject({ outcome: "success", status: 200 });
    }
  });

  test("a second SIGTERM: streams end in the error and without [DONE], waiting calls get 503", async () => {
    await start();
    upstream.script(sseReply([chatChunk({ content: "half a" }), new Promise(() => {})]), hangReply());
    const stream = ask("hurried-stream", { stream: true });
    await until("the first words", () => stream.received().includes("half a"));
    const unary = ask("hurried-unary", {});
    await until("both at the upstream", async () => (await upstream.request(1)).complete);

    gateway.signal("SIGTERM");
    if (mode === "single") await until("not ready", async () => (await healthOf()) === 503);
    else await until("new connections to be refused", refused);
    expect([stream.closed, unary.closed]).toEqual([false, false]);
    const started = performance.now();
    gateway.signal("SIGTERM");
    await until("the stream's end", () => stream.received().endsWith("0\r\n\r\n"));
    expect(performance.now() - started).toBeLessThan(1_500);
    expect(streamOf(stream)).toMatchObject({ content: "half a", done: false, error: { code: "server_shutting_down" } });
    expect(stream.received()).not.toContain("[DONE]");
    await until("the answer", () => unary.received().includes("server_shutting_down"));
    expect(unary.received()).toMatch(/^HTTP\/1.1 503 /);
    await Promise.all([upstream.closed(0), upstream.closed(1)]);
    await expectCleanEnd(4_000);
    if (mode === "mesh") {
      expect(await logging.record("hurried-stream")).toMatchObject({ stream: true, error: { code: "server_shutting_down" } });
      expect(await logging.record("hurried-unary")).toMatchObject({ status: 503, error: { code: "server_shutting_down" } });
    }
  });

  test("what runs longer than UNIGATE_DRAIN_SECONDS is ended likewise; SIGINT waits for no load balancer", async () => {
    await start({ UNIGATE_DRAIN_SECONDS: "1" });
    upstream.script(sseReply([chatChunk({ content: "half a" }), new Promise(() => {})]));
    const stream = ask("overdue-stream", { stream: true });
    await until("the first words", () => stream.received().includes("half a"));
    const started = performance.now();
    gateway.signal("SIGINT");
    await until("the stream's end", () => stream.received().endsWith("0\r\n\r\n"));
    const took = performance.now() - started;
    expect(took).toBeGreaterThan(900);
    expect(took).toBeLessThan(4_000);
    expect(streamOf(stream)).toMatchObject({ content: "half a", done: false, error: { code: "server_shutting_down" } });
    await expectCleanEnd();
    if (mode === "mesh") expect(await logging.record("overdue-stream")).toMatchObject({ error: { code: "server_shutting_down" } });
  });
});
