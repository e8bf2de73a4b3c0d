import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openSql, runSql } from "@unigate/sql";
import { chatReply, type Gateway, removeFolder, requirement, startGateway, startUpstream, type Upstream } from "@unigate/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { filesBelow } from "./canaries.ts";
import { QUESTION, send, target } from "./http.ts";
import { logsOf } from "./logs.ts";
import { openAi } from "./sdk.ts";
import { declaredKey } from "./stage.ts";

const MAIN = fileURLToPath(new URL("../../services/unigate/bin/main.js", import.meta.url));
const { name, key } = declaredKey("embedded");
let root = "";

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "unigate-embedded-"));
});
afterEach(() => removeFolder(root));

/** Runs the product to its end, in the folder of the test. */
function run(words: readonly string[], env: Record<string, string>): { code: number | null; out: string; error: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...words], { cwd: root, env, encoding: "utf8", timeout: 30_000 });
  return { code: status, out: stdout, error: stderr };
}

describe("an embedded database for less or more than one process is refused", () => {
  const owner = "belongs to one process that runs all services, without workers";

  test.each([
    [["--target=control"], {}, "for a process with control only: the embedded database in .unigate"],
    [["--target=control,logging"], {}, "for a process with control, logging only: the embedded database in .unigate"],
    [["--workers=2"], { UNIGATE_DATABASE_URL: "pglite:./db" }, "for 2 workers: the embedded database in ./db"],
    [["--workers=2", "--check-config", "any.yaml"], {}, "for 2 workers"],
  ])("%j %j", (words, env, message) => {
    const { code, error } = run(words, { UNIGATE_DATABASE_URL: "pglite:", ...env });
    expect([code, error.split("\n").length]).toEqual([1, 2]);
    expect(error).toContain(`unigate: UNIGATE_DATABASE_URL is "pglite:"; expected postgres://user:password@host:5432/database ${message}`);
    expect(error).toContain(owner);
    expect(readdirSync(root)).toEqual([]);
  });

  test("the mesh", async () => {
    const starting = startGateway({ mode: "mesh", env: { UNIGATE_DATABASE_URL: "pglite:" } });
    await expect(starting).rejects.toThrow(/for a mesh of eight processes: the embedded database in .*/);
  });

  test("--check-config of one process passes, and makes no database", () => {
    writeFileSync(join(root, "unigate.yaml"), "version: 1\n");
    const { code, out } = run(["--check-config", "unigate.yaml"], { UNIGATE_DATABASE_URL: "pglite:" });
    expect([code, out, readdirSync(root)]).toEqual([0, "unigate.yaml: ok\n", ["unigate.yaml"]]);
  });

  test("--export where there is none says so, and makes none", () => {
    const { code, error } = run(["--export"], { UNIGATE_DATABASE_URL: "pglite:./db" });
    expect([code, error]).toEqual([1, "unigate: --export: there is no embedded database in ./db, which UNIGATE_DATABASE_URL names\n"]);
    expect(readdirSync(root)).toEqual([]);
  });
});

describe.skipIf(!requirement("pglite").available)("a gateway over its embedded database", { timeout: 180_000 }, () => {
  let upstream: Upstream;
  let gateways: Gateway[] = [];

  beforeAll(async () => {
    upstream = await startUpstream();
  });
  afterEach(async () => {
    for (const gateway of gateways) await gateway.stop();
    gateways = [];
    upstream.reset();
  });
  afterAll(() => upstream.close());

  async function start(url: string, data = "data"): Promise<Gateway> {
    const gateway = await startGateway({
      mode: "single",
      config: { version: 1, keys: [{ name, key, scopes: ["*"] }] },
      env: { UNIGATE_DATABASE_URL: url, UNIGATE_DATA_DIR: join(root, data) },
    });
    gateways.push(gateway);
    return gateway;
  }

  async function saveConfig(gateway: Gateway): Promise<string> {
    const body = { name: "kept", config: target(upstream.origin) };
    const answer = await send(gateway, "/v1/configs", { headers: { "x-gateway-api-key": key }, body });
    expect(answer.status, answer.text).toBe(200);
    const json = answer.json();
    return String((json["data"] as { slug?: unknown } | undefined)?.slug ?? json["slug"]);
  }

  /** A call by the SDK through a saved config, and its record. */
  async function call(gateway: Gateway, config: string, traceId: string): Promise<void> {
    upstream.script(chatReply("hello back"));
    const sdk = openAi(gateway, key, { "x-gateway-config": config, "x-gateway-trace-id": traceId });
    const { choices } = await sdk.chat.completions.create({ model: "gpt-test", messages: [{ role: "user", content: "Hello" }] });
    expect(choices[0]?.message.content).toBe("hello back");
    const [record] = await logsOf(gateway, key, traceId, 1);
    expect(record).toMatchObject({ trace_id: traceId, status: 200, model: QUESTION.model });
  }

  test("keeps what is saved and logged over a restart and over a kill; nothing is in a journal or in files", async () => {
    const first = await start("pglite:");
    const config = await saveConfig(first);
    await call(first, config, "first");
    await first.stop();
    const second = await start("pglite:");
    await logsOf(second, key, "first", 1);
    await call(second, config, "second");
    second.kill("control", "SIGKILL");
    await second.ended;
    const third = await start("pglite:");
    await logsOf(third, key, "first", 1);
    await logsOf(third, key, "second", 1);
    await call(third, config, "third");
    expect(third.output()).not.toMatch(/"level":(50|60)/);
    const names = readdirSync(join(root, "data"));
    expect(names).toContain("pglite");
    expect(names.filter((each) => each === "control.journal" || each === "logs")).toEqual([]);
  });

  test("in a folder elsewhere has one owner: a second gateway is told whose it is, and so is an export", async () => {
    const url = `pglite://${join(root, "elsewhere")}`;
    const first = await start(url, "one");
    const inUse = `the data folder ${join(root, "elsewhere")} is in use by process ${first.pid("control")}; stop it, or set UNIGATE_DATABASE_URL to another folder`;
    await expect(start(url, "other")).rejects.toThrow(inUse);
    const env = { UNIGATE_DATABASE_URL: url, UNIGATE_DATA_DIR: join(root, "other") };
    expect(run(["--export"], env)).toEqual({ code: 1, out: "", error: `unigate: ${inUse}\n` });
    const config = await saveConfig(first);
    await first.stop();
    // All of it is there, whatever the data folder, and goes into a database of another program by a file.
    const exported = run(["--export"], env);
    expect([exported.code, exported.out.includes(config)]).toEqual([0, true]);
    writeFileSync(join(root, "saved.ndjson"), exported.out);
    const imported = run(["--import", "saved.ndjson"], {
      UNIGATE_DATABASE_URL: "pglite:",
      UNIGATE_DATA_DIR: "new",
      UNIGATE_MASTER_KEY: "00".repeat(32),
    });
    expect([imported.code, imported.error]).toEqual([1, expect.stringContaining("sealed under another master key")]);
  });

  test("that is damaged says so, where it was moved, and goes on with an empty one", async () => {
    const first = await start("pglite:");
    const config = await saveConfig(first);
    await call(first, config, "before");
    await first.stop();
    const folder = join(root, "data", "pglite");
    truncateSync(join(folder, "global", "pg_control"), 100);
    const size = filesBelow(folder).length;
    const second = await start("pglite:");
    const aside = readdirSync(join(root, "data")).find((each) => each.startsWith("broken-")) ?? "";
    const said = second
      .output()
      .split("\n")
      .find((line) => line.includes("moved aside"));
    expect(JSON.parse(said ?? "{}")).toMatchObject({ level: 50, folder, movedTo: join(root, "data", aside) });
    expect(filesBelow(join(root, "data", aside)).length).toBeGreaterThanOrEqual(size);
    await call(second, await saveConfig(second), "after");
    expect((await send(second, "/v1/logs?trace_id=before", { headers: { "x-gateway-api-key": key } })).json()["data"]).toEqual([]);
  });

  test("of a newer program, or of another PostgreSQL, is refused in one line and left as it was", async () => {
    const first = await start("pglite:");
    await first.stop();
    const dataDir = join(root, "data");
    const engine = openSql({ url: null, dataDir, onEvent() {} });
    await runSql(
      await engine.database("control"),
      "insert into control.schema_migration (name, timestamp) values ('9999-later', '2030-01-01')",
    );
    await engine.close();
    await expect(start("pglite:")).rejects.toThrow(
      'unigate: the database schema "control" is at version "9999-later", newer than "0001-saved-things" of this program: start the newer program',
    );
    writeFileSync(join(dataDir, "pglite", "PG_VERSION"), "99\n");
    await expect(start("pglite:")).rejects.toThrow(
      `unigate: the embedded database in ${join(dataDir, "pglite")} was written by PostgreSQL 99`,
    );
    expect(readdirSync(dataDir).filter((each) => each.startsWith("broken-"))).toEqual([]);
  });
});
