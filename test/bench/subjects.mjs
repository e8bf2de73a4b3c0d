// What is measured, as data: how each subject starts, and with which headers a case calls it.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gatewayConfig, gatewayHeaders } from "./gateway-config.mjs";
import { launch, start } from "./processes.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const bin = join(here, "../../services/unigate/bin");
// Beside the node-server that npm chooses, 1.15.2 answers 500 to every stream (https://github.com/Portkey-AI/gateway/issues/1389).
const PEER_HELP =
  'npm install it in a folder whose package.json has "overrides": { "@hono/node-server": "1.3.3" }, and give that as --peer=FOLDER';
const PEER = "node_modules/@portkey-ai/gateway/build/start-server.js";

/** The minimal proxy comes first: the others are compared with it. `start` gives the process and its HTTP port. */
export const subjects = [
  { name: "proxy", title: "minimal proxy", start: startProxy, headers: () => ({}) },
  { name: "one", title: "one process", isGateway: true, start: gateway("one", "main.js", []), headers: gatewayHeaders },
  {
    name: "workers",
    title: "2 workers",
    isGateway: true,
    start: gateway("workers", "main.js", ["--workers", "2"]),
    headers: gatewayHeaders,
  },
  { name: "mesh", title: "mesh", isGateway: true, start: gateway("mesh", "mesh.js", []), headers: gatewayHeaders },
  { name: "peer", title: "@portkey-ai/gateway", isPeer: true, start: startPeer, headers: peerHeaders },
];

async function startProxy({ upstream }) {
  const { child, message } = await start(join(here, "minimal-proxy.mjs"), { env: { BENCH_UPSTREAM: upstream } });
  return { child, port: message.port };
}

/** With everything embedded, whatever the environment names. */
function gateway(name, script, args) {
  return async ({ upstream, profile }) => {
    const folder = mkdtempSync(join(tmpdir(), "unigate-bench-"));
    const config = join(folder, "unigate.yaml");
    writeFileSync(config, gatewayConfig(upstream));
    const env = {
      ...Object.fromEntries(Object.keys(process.env).flatMap((key) => (key.startsWith("UNIGATE_") ? [[key, undefined]] : []))),
      HOST: "127.0.0.1",
      PORT: "0",
      UNIGATE_DATA_DIR: join(folder, "data"),
      UNIGATE_CONFIG: config,
      UNIGATE_LOG_LEVEL: "error",
      NODE_ENV: "production",
    };
    const { child, message } = await start(join(bin, script), { env, args, execArgv: profiling(profile, name) });
    return { child, port: message.httpPort, clear: () => rmSync(folder, { recursive: true, force: true }) };
  };
}

/** The processes below it start with the same words. */
function profiling(folder, name) {
  if (folder === null) return [];
  const own = resolve(folder, name);
  mkdirSync(own, { recursive: true });
  return ["--cpu-prof", `--cpu-prof-dir=${own}`];
}

async function startPeer({ peer }) {
  const script = findPeer(peer === "" ? here : resolve(peer));
  const port = await freePort();
  const child = launch(script, { args: [`--port=${port}`, "--headless"], env: { NODE_ENV: "production" }, errors: "ignore" });
  return { child, port };
}

function findPeer(folder) {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, PEER))) return join(at, PEER);
    if (at === dirname(at)) throw new Error(`${PEER} is neither in ${folder} nor above it; ${PEER_HELP}`);
  }
}

function peerHeaders(_item, upstream) {
  return { authorization: "Bearer sk-bench", "x-portkey-provider": "openai", "x-portkey-custom-host": `${upstream}/v1` };
}

function freePort() {
  return new Promise((done, fail) => {
    const server = createServer().once("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}
