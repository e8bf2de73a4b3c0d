// Starting and measuring the processes under test.
import { fork } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const TICKS_A_SECOND = 100;

/** Forks a script and waits for its first message. */
export function start(script, { env = {}, args = [] } = {}) {
  return new Promise((resolve, reject) => {
    const child = fork(here(script), args, { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "inherit", "ipc"] });
    child.once("message", (message) => resolve({ child, message }));
    child.once("exit", (code) => reject(new Error(`${script} ended with ${code}`)));
  });
}

/** Ends a process and waits for it. */
export function stop({ child }) {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", resolve);
    child.kill("SIGINT");
  });
}

/** The process and all below it. */
export function family(pid) {
  const parents = new Map();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
      parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {}
  }
  const members = [pid];
  for (let index = 0; index < members.length; index++)
    for (const [child, parent] of parents) if (parent === members[index]) members.push(child);
  return members;
}

/** User and system time of a family of processes so far, microseconds. */
export function cpuMicros(pids) {
  let ticks = 0;
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return (ticks * 1_000_000) / TICKS_A_SECOND;
}

/** Resident memory of a family, MiB. */
export function residentMiB(pids) {
  let kib = 0;
  for (const pid of pids) kib += Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  return kib / 1024;
}

/** A gateway with one saved provider that points at the upstream, a plain config and one with a cache, a plain key and a limited one. */
export async function startGateway(mode, upstreamPort, keys) {
  const folder = mkdtempSync(join(tmpdir(), "unigate-bench-"));
  const config = join(folder, "unigate.yaml");
  writeFileSync(
    config,
    [
      "version: 1",
      "providers:",
      "  - { slug: bench, provider: openai, api_key: sk-bench, custom_host: 'http://127.0.0.1:" + upstreamPort + "/v1' }",
      "configs:",
      '  - { id: pc-bench, config: { provider: "@bench" } }',
      '  - { id: pc-cached, config: { provider: "@bench", cache: { mode: simple, max_age: 60 } } }',
      "keys:",
      `  - { name: bench, key: ${keys.plain}, scopes: [completions.write] }`,
      `  - { name: limited, key: ${keys.limited}, scopes: [completions.write], rate_limits: [{ type: requests, unit: rpm, value: 100000000 }] }`,
      "",
    ].join("\n"),
  );
  const env = {
    HOST: "127.0.0.1",
    PORT: "0",
    UNIGATE_DATA_DIR: join(folder, "data"),
    UNIGATE_CONFIG: config,
    UNIGATE_LOG_LEVEL: "error",
    NODE_ENV: "production",
  };
  const started = performance.now();
  const running = await start(mode === "mesh" ? "../../services/unigate/dist/mesh.js" : "../../services/unigate/dist/main.js", { env });
  return { ...running, startMs: performance.now() - started };
}
