import { readFileSync } from "node:fs";
import { freePort, requirement, until } from "@unigate/testkit";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { openAi, seenOf, seenOfStream } from "../e2e/sdk.ts";
import { type Composed, composed } from "./compose.ts";
import { docker, firstKeys, inspect, untilReady } from "./docker.ts";
import { buildImage, HARDENED, IMAGE, NODE_IMAGE } from "./image.ts";
import { describeServed } from "./served.ts";

const available = (["docker", "compose", "long"] as const).every((name) => requirement(name).available);
const BUILD_MS = 310_000;
const START_MS = 60_000;
const MEASURED_MIB = 33;
const MOCK = { "x-gateway-provider": "mock" };

/** Of the mesh with certificates: whoever has the token only, nobody speaks to. */
function refusesWithoutCertificate(stack: () => Composed): void {
  test("refuses a process that has the token of the mesh and no certificate", async () => {
    const script = (path: string, port: number): string =>
      `fetch("http://127.0.0.1:${port}${path}").then(async (answer) => console.log(answer.status, await answer.text()))`;
    const refusals = async (): Promise<number> => {
      const metrics = await stack().tell("exec", "-T", "control", "node", "-e", script("/metrics", 9090));
      const counts = [...metrics.matchAll(/^unigate_mesh_refused_total\{.*\} (\d+)$/gm)].map(([, count]) => Number(count));
      return counts.reduce((sum, count) => sum + count, 0);
    };
    expect(await refusals()).toBe(0);
    const without = ["CERT", "KEY", "CA"].flatMap((name) => ["-e", `UNIGATE_MESH_${name}=`]);
    const stranger = (await stack().tell("run", "--detach", "--no-deps", ...without, "edge")).trim();
    try {
      await until("a refusal by control", async () => (await refusals()) > 0, START_MS);
      expect(await docker(["exec", stranger, "node", "-e", script("/readyz", 9090)])).toMatch(/^503 /);
    } finally {
      await docker(["rm", "--force", "--volumes", stranger]);
    }
  }, 120_000);
}

/** Of the packages of this workspace, those that only work on it needs. */
function developmentPackages(): string[] {
  const read = (file: string): Record<string, Record<string, string>> =>
    JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")) as Record<string, Record<string, string>>;
  const tools = Object.keys(read("package.json")["devDependencies"] ?? {});
  // The types of Node come with a dependency of the product.
  return [...tools, "fast-check", "openai", "testcontainers", "@types/pg", "@types/express"].filter((name) => name !== "@types/node");
}

describe.skipIf(!available)("the image", () => {
  const containers: string[] = [];
  beforeAll(buildImage, BUILD_MS);
  afterEach(async () => {
    for (const name of containers.splice(0)) await docker(["rm", "--force", "--volumes", name]);
  });

  /** A container of the image that keeps to its rights, with its port on loopback. */
  async function start(...words: string[]) {
    const port = await freePort();
    const options = ["--detach", "--health-interval", "1s", "--publish", `127.0.0.1:${port}:8080`];
    const name = (await docker(["run", ...options, ...HARDENED, IMAGE, ...words])).trim();
    containers.push(name);
    const origin = `http://127.0.0.1:${port}`;
    const logs = (): Promise<string> => docker(["logs", name]);
    await untilReady(origin, START_MS, logs);
    const { workspace } = await until("the first keys", async () => firstKeys(await logs()));
    return { name, client: openAi({ baseUrl: `${origin}/v1` }, workspace, MOCK) };
  }
  const inside = (name: string, script: string): Promise<string> => docker(["exec", name, "node", "-e", script]);
  const exitCode = async (name: string): Promise<number> => (await inspect<{ State: { ExitCode: number } }>(name)).State.ExitCode;

  test("adds little to Node's own", async () => {
    const [image, base] = await Promise.all([IMAGE, NODE_IMAGE].map((name) => inspect<{ Size: number }>(name)));
    const added = (Number(image?.Size) - Number(base?.Size)) / 1024 ** 2;
    expect(added).toBeGreaterThan(MEASURED_MIB / 4);
    expect(added).toBeLessThan(MEASURED_MIB * 1.4);
  });

  test("says how it is to be run", async () => {
    const { Config } = await inspect<{ Config: Record<string, unknown> }>(IMAGE);
    expect(Config).toMatchObject({
      User: "1000:1000",
      Volumes: { "/data": {} },
      ExposedPorts: { "8080/tcp": {}, "50051/tcp": {}, "9090/tcp": {} },
      Labels: { "org.opencontainers.image.title": "Unigate", "org.opencontainers.image.licenses": "Apache-2.0" },
    });
    expect(Config["Env"]).toEqual(expect.arrayContaining(["NODE_ENV=production", "HOST=0.0.0.0", "UNIGATE_DATA_DIR=/data"]));
  });

  test("takes the words of the command line", async () => {
    expect(await docker(["run", "--rm", ...HARDENED, IMAGE, "--list-targets"])).toContain("edge       needs control");
    await expect(docker(["run", "--rm", ...HARDENED, IMAGE, "--target=edge"])).rejects.toThrow("edge needs control: add it to --target");
  });

  test("ends when it is told to before it is ready", async () => {
    const name = (await docker(["run", "--detach", ...HARDENED, IMAGE])).trim();
    containers.push(name);
    // The first ones may come before anything listens to them.
    await until("its end", () =>
      docker(["kill", "--signal", "TERM", name]).then(
        () => false,
        () => true,
      ),
    );
    expect(await exitCode(name)).toBe(143);
  });

  test("holds the product and nothing that only work on it needs", async () => {
    const script = `
      const { existsSync, readdirSync, readFileSync } = require("node:fs");
      const names = readdirSync("/app/node_modules/.pnpm").map((name) => name.replaceAll("+", "/").replace(/(?<=.)@.*/, ""));
      const own = ["packages", "services"].flatMap((folder) => readdirSync("/app/" + folder).map((name) => "/app/" + folder + "/" + name));
      const built = own.flatMap((folder) => ["dist", "bin"].map((name) => folder + "/" + name)).filter((folder) => existsSync(folder));
      const files = built.flatMap((folder) => readdirSync(folder, { recursive: true })).filter((name) => /\\.[a-z]+$/.test(name) && !/(?:\\.js|licenses\\.txt)$/.test(name));
      const folders = own.flatMap((folder) => readdirSync(folder));
      const homes = ["/root", "/tmp"].map((folder) => { try { return readdirSync(folder).filter((name) => !name.startsWith(".bash") && name !== ".profile"); } catch { return []; } });
      const licences = readFileSync("/app/services/unigate/bin/licenses.txt", "utf8");
      console.log(JSON.stringify({ names, files, folders: [...new Set(folders)].sort(), homes: homes.flat(), licences }));`;
    const found = JSON.parse(await docker(["run", "--rm", "--user", "0", "--entrypoint", "node", IMAGE, "-e", script])) as {
      names: string[];
      files: string[];
      folders: string[];
      homes: string[];
      licences: string;
    };
    // What is in the bundle is not there a second time, but its licences are.
    expect(found.names).toEqual(expect.arrayContaining(["@grpc/grpc-js", "@electric-sql/pglite"]));
    expect(found.names.filter((name) => ["express", "undici", "pino", "zod"].includes(name))).toEqual([]);
    expect(found.licences).toMatch(/^express \d.* \(MIT\)$/m);
    expect(found.names.filter((name) => developmentPackages().includes(name))).toEqual([]);
    expect(found.files).toEqual([]);
    expect(found.folders).toEqual(["bin", "dist", "node_modules", "package.json"]);
    expect(found.homes).toEqual([]);
  });

  test("answers the SDK with nothing to write but its volume, becomes healthy, and ends what it began", async () => {
    const { name, client } = await start();
    const body = { model: "mock-1", messages: [{ role: "user" as const, content: "Hello" }] };
    const answer = seenOf(await client.chat.completions.create(body));
    expect(answer).toMatchObject({ text: expect.stringContaining('You said: "Hello"') as unknown, finishReason: "stop" });
    expect(await seenOfStream(await client.chat.completions.create({ ...body, stream: true }))).toMatchObject({ text: answer.text });

    const health = async () => (await inspect<{ State: { Health: { Status: string } } }>(name)).State.Health.Status;
    await until("a healthy container", async () => (await health()) === "healthy", START_MS);
    const refused = await inside(
      name,
      `try { require("node:fs").writeFileSync("/app/x", ""); } catch (error) { console.log(error.code); }`,
    );
    expect(refused.trim()).toBe("EROFS");

    // Twenty words, one each 400 ms: longer than the wait for load balancers.
    const slow = await client.chat.completions.create({ ...body, model: "mock-drip-400", stream: true });
    const read = seenOfStream(slow);
    await docker(["stop", "--time", "60", name], 90_000);
    expect(await read).toMatchObject({ text: answer.text, finishReason: "stop" });
    expect(await exitCode(name)).toBe(0);
  }, 120_000);

  test("with workers it replaces one that is killed, and leaves no dead process", async () => {
    const { name, client } = await start("--workers", "2");
    const processes = `
      const { readdirSync, readFileSync } = require("node:fs");
      const all = readdirSync("/proc").filter((id) => /^\\d+$/.test(id)).flatMap((id) => {
        try { const [state, parent] = readFileSync("/proc/" + id + "/stat", "utf8").replace(/.*\\) /s, "").split(" "); return [{ id: Number(id), state, parent: Number(parent) }]; } catch { return []; }
      });`;
    const listed = async (): Promise<{ id: number; state: string; parent: number }[]> =>
      JSON.parse(await inside(name, `${processes} console.log(JSON.stringify(all));`)) as { id: number; state: string; parent: number }[];
    const workers = async (): Promise<number[]> => (await listed()).filter(({ parent }) => parent === 1).map(({ id }) => id);
    const [first = 0, second = 0] = await until("two workers", async () => ((await workers()).length === 2 ? workers() : null), START_MS);
    await inside(name, `process.kill(${first}, "SIGKILL")`);
    const after = await until(
      "a new worker beside the other one",
      async () => {
        const now = await workers();
        return now.length === 2 && now.includes(second) && !now.includes(first) ? now : null;
      },
      START_MS,
    );
    expect(after.length).toBe(2);
    expect((await listed()).filter(({ state }) => state === "Z")).toEqual([]);
    const body = { model: "mock-1", messages: [{ role: "user" as const, content: "again" }] };
    expect(seenOf(await client.chat.completions.create(body)).finishReason).toBe("stop");
    await docker(["stop", "--time", "60", name], 90_000);
    expect(await exitCode(name)).toBe(0);
  }, 120_000);

  describeServed(["compose.yaml"], { service: "unigate", keysFrom: "unigate", scale: 1 });
  describeServed(["compose.mesh.yaml"], { service: "edge", keysFrom: "control", scale: 2 });
  describeServed(
    ["compose.mesh.yaml", "compose.mesh-tls.yaml"],
    { service: "edge", keysFrom: "control", scale: 1 },
    refusesWithoutCertificate,
  );

  test.each(["UNIGATE_MESH_TOKEN", "UNIGATE_MASTER_KEY", "POSTGRES_PASSWORD"])(
    "compose.mesh.yaml without %s says what is missing",
    async (missing) => {
      const all = { UNIGATE_MESH_TOKEN: "token", UNIGATE_MASTER_KEY: "key", POSTGRES_PASSWORD: "password" };
      const mesh = composed(["compose.mesh.yaml"], { ...all, [missing]: "" });
      await expect(mesh.tell("config")).rejects.toThrow(`deploy/.env needs ${missing}`);
    },
  );
});
