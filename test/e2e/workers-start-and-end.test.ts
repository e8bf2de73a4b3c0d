import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chatReply, chatStreamReply, type Gateway, removeFolder, requirement, until } from "@unigate/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { declaredKey } from "./stage.ts";
import { freshGet, hourWithTime, isAlive, useWorkers, workersOf } from "./workers.ts";

/** A busy machine included: several processes start in each test. */
const PATIENCE_MS = 180_000;

describe.skipIf(!requirement("long").available)("a gateway with workers", () => {
  const stage = useWorkers();

  describe("that is told to end", { timeout: PATIENCE_MS }, () => {
    afterEach(stage.stopAll);

    /** A gateway with two workers, a stream under way in each of some of them, and what lets the streams go on. */
    async function running(env: Record<string, string> = {}) {
      const { name, key } = declaredKey("ending");
      const gateway = await stage.start(2, { config: { version: 1, keys: [{ name, key, scopes: ["*"] }] }, env });
      let open = (): void => {};
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      stage.upstream.always(chatStreamReply(["first ", gate, "second"]));
      const streams = Array.from({ length: 8 }, (_, index) => stage.ask(gateway, key, `ending-${index}`, { stream: true }));
      await until("all streams to have begun", () => streams.every((stream) => stream.received().includes("first")));
      return { gateway, key, streams, open, workers: workersOf(gateway) };
    }
    async function isRefused(gateway: Gateway): Promise<boolean> {
      return (await fetch(gateway.origin).catch((error: { cause?: { code?: string } }) => error.cause?.code)) === "ECONNREFUSED";
    }
    async function expectCleanEnd(gateway: Gateway, workers: readonly number[]): Promise<void> {
      expect(await gateway.ended).toBe(0);
      expect(workers.filter(isAlive)).toEqual([]);
      expect(gateway.output()).not.toMatch(/Error|"level":(50|60)/);
    }

    test("SIGTERM under load: no worker is ready, what runs is finished whole, then all end", async () => {
      const { gateway, key, streams, open, workers } = await running();
      gateway.signal("SIGTERM");
      await until("not ready", async () => (await freshGet(gateway, "/readyz")).status === 503);
      // Load balancers have 5 s to see it; what they still send meanwhile is answered.
      stage.upstream.script(chatReply("in time"));
      expect(await stage.chat(gateway, key)).toBe(200);
      await until("new connections to be refused", () => isRefused(gateway), 20_000);
      expect(streams.filter(({ closed }) => closed)).toEqual([]);
      open();
      await until("the streams' end", () => streams.every((stream) => stream.received().endsWith("0\r\n\r\n")));
      for (const stream of streams) expect(stream.received()).toContain("[DONE]");
      await expectCleanEnd(gateway, workers);
    });

    test("a second SIGTERM: streams end at once, in an error", async () => {
      const { gateway, streams, workers } = await running();
      gateway.signal("SIGTERM");
      await until("not ready", async () => (await freshGet(gateway, "/readyz")).status === 503);
      gateway.signal("SIGTERM");
      await until("the streams' end", () => streams.every((stream) => stream.received().endsWith("0\r\n\r\n")), 5_000);
      for (const stream of streams) {
        expect(stream.received()).toContain("server_shutting_down");
        expect(stream.received()).not.toContain("[DONE]");
      }
      await expectCleanEnd(gateway, workers);
    });

    test("SIGINT of a terminal, which every process gets: streams are finished whole, and no load balancer is waited for", async () => {
      const { gateway, streams, open, workers } = await running();
      for (const pid of workers) process.kill(pid, "SIGINT");
      gateway.signal("SIGINT");
      await until("new connections to be refused", () => isRefused(gateway), 4_000);
      expect(streams.filter(({ closed }) => closed)).toEqual([]);
      open();
      await until("the streams' end", () => streams.every((stream) => stream.received().endsWith("0\r\n\r\n")));
      for (const stream of streams) expect(stream.received()).toContain("[DONE]");
      await expectCleanEnd(gateway, workers);
    });
  });

  test(
    "told to end while a worker is started again: that one is not waited for until its time is up",
    async () => {
      const gateway = await stage.start(2, {});
      const before = workersOf(gateway);
      process.kill(before[0] ?? 0, "SIGKILL");
      const after = await until("a new worker that has just begun", () => {
        const now = workersOf(gateway);
        return now.length === 2 && now.some((pid) => !before.includes(pid)) ? now : null;
      });
      gateway.signal("SIGINT");
      const ended = await Promise.race([gateway.ended, new Promise((resolve) => setTimeout(resolve, 60_000, "still there").unref())]);
      expect(ended).toBe(0);
      expect(after.filter(isAlive)).toEqual([]);
      await stage.stopAll();
    },
    PATIENCE_MS,
  );

  describe("at its start", { timeout: PATIENCE_MS }, () => {
    afterEach(stage.stopAll);
    const MAIN = fileURLToPath(new URL("../../services/unigate/bin/main.js", import.meta.url));

    /** Runs the product to its end, from a folder of its own. */
    function run(words: readonly string[], env: Record<string, string> = {}): { code: number | null; out: string; error: string } {
      const folder = mkdtempSync(join(tmpdir(), "unigate-workers-"));
      try {
        const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...words], { cwd: folder, env, encoding: "utf8" });
        return { code: status, out: stdout, error: stderr };
      } finally {
        removeFolder(folder);
      }
    }

    test.each([
      [["--workers", "0"], {}, '--workers is "0"; expected a whole number from 1 to 64, or auto for one a processor'],
      [["--workers=-2"], {}, '--workers is "-2"; expected'],
      [["--workers=65"], {}, '--workers is "65"; expected'],
      [[], { UNIGATE_WORKERS: "some" }, 'UNIGATE_WORKERS is "some"; expected'],
      [["--workers"], {}, "--workers needs a number from 1 to 64, or auto"],
      [["--workers=2", "--target=router"], {}, "workers share the HTTP port, and router has none: leave --workers"],
    ])("%j %j is refused", (words, env, message) => {
      const { code, error } = run(words, env);
      expect([code, error.split("\n").length]).toEqual([1, 2]);
      expect(error).toContain(`unigate: ${message}`);
    });

    test("--check-config tells who would run what; --help knows it", () => {
      const { code, out } = run(["--workers=2", "--check-config", fileURLToPath(new URL("../fixtures/none.yaml", import.meta.url))]);
      expect(code).toBe(1);
      expect(out).toBe("2 workers with guardrail, connector, edge; beside them one process with control, logging, router, cache, policy\n");
      expect(run(["--help"]).out).toMatch(/--workers N .*auto[^]*UNIGATE_WORKERS /);
    });

    test("a port in use is told once, and nothing stays behind", async () => {
      const first = await stage.start(2);
      const { code, out, error } = run(["--workers=3"], { PORT: String(first.port) });
      const told = error.split("\n").filter((line) => !line.startsWith("{"));
      expect([code, out, told.join("\n")]).toEqual([
        1,
        "",
        `unigate: cannot listen on 127.0.0.1:${first.port}: it is already in use; stop the other process or choose another port\n`,
      ]);
    });

    test("the start message and its keys come once", async () => {
      const folder = mkdtempSync(join(tmpdir(), "unigate-workers-"));
      const child = spawn(process.execPath, [MAIN, "--workers=2"], { cwd: folder, env: { PORT: "0" }, stdio: ["ignore", "pipe", "pipe"] });
      let said = "";
      child.stdout.on("data", (piece) => (said += String(piece)));
      await until("the curl line", () => said.includes("chat/completions"), 60_000);
      child.kill("SIGINT");
      await once(child, "close");
      expect(said.match(/Unigate \S+ is ready at http:\/\/127\.0\.0\.1:[1-9]\d*\/v1 \(2 workers, /g)).toHaveLength(1);
      expect(said.match(/admin key: +ugw-/g)).toHaveLength(1);
      removeFolder(folder);
    });

    test("a data folder with a long path: the socket is elsewhere, and no limit is lost", async () => {
      const folder = mkdtempSync(join(tmpdir(), "unigate-workers-"));
      try {
        const two = declaredKey("two", { rate_limits: [{ type: "requests", unit: "rph", value: 2 }] });
        await hourWithTime();
        const env = { UNIGATE_DATA_DIR: join(folder, "a long name ".repeat(12).trim()) };
        const gateway = await stage.start(2, { config: { version: 1, keys: [two] }, env });
        stage.upstream.always(chatReply("ok"));
        const statuses = await Promise.all(Array.from({ length: 8 }, () => stage.chat(gateway, two.key)));
        expect(statuses.filter((status) => status === 200)).toHaveLength(2);
      } finally {
        await stage.stopAll();
        removeFolder(folder);
      }
    });
  });
});
