// `pnpm bench`: CPU time per request of every process of the gateway, beside a minimal Node proxy in the same run.
// Absolute times mean little on a shared machine; the ratios are what is compared.
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { makeGatewayKey } from "@unigate/secrets";
import { closedLoop, fixedRate, percentile } from "./load.mjs";
import { cpuMicros, family, residentMiB, start, startGateway, stop } from "./processes.mjs";

const WIDTH = 16;
const rounds = 3;
const keys = { plain: makeGatewayKey(), limited: makeGatewayKey() };
const say = (text) => process.stderr.write(`${text}\n`);

const bodyText = (more) =>
  JSON.stringify({
    model: "gpt-bench",
    messages: [
      { role: "system", content: "You are a helpful assistant that answers briefly." },
      { role: "user", content: "Write two sentences about foxes, dogs and how quickly one of them jumps. ".repeat(6) },
    ],
    temperature: 0.7,
    ...more,
  });

/** Always the same body. */
function one(more) {
  const body = Buffer.from(bodyText(more));
  return () => body;
}

/** Another body each time, so that no answer is in the cache. */
function another() {
  const [head, tail] = bodyText({ user: "#" }).split("#");
  let number = 0;
  return () => Buffer.from(`${head}${number++}${tail}`);
}

/** `count` requests a round; `rate` a second in the fixed-rate part. */
const cases = [
  { name: "unary", count: 12_000, rate: 200, stream: false, body: one({}), key: keys.plain, config: "pc-bench" },
  { name: "stream", count: 4_000, rate: 100, stream: true, body: one({ stream: true }), key: keys.plain, config: "pc-bench" },
  { name: "limit + cache", count: 8_000, rate: 200, stream: false, body: another(), key: keys.limited, config: "pc-cached" },
];

const upstream = await start("./upstream.mjs");
const origin = (port) => `http://127.0.0.1:${port}`;
const plain = { "content-type": "application/json" };

say("starting the minimal proxy, the gateway in one process, and the mesh");
const proxy = await start("./minimal-proxy.mjs", { env: { BENCH_UPSTREAM: origin(upstream.message.port) } });
const single = await startGateway("single", upstream.message.port, keys);
const mesh = await startGateway("mesh", upstream.message.port, keys);

const subjects = [
  { name: "minimal proxy", running: proxy, port: proxy.message.port },
  { name: "one process", running: single, port: single.message.httpPort },
  { name: "mesh", running: mesh, port: mesh.message.httpPort },
];

const rows = [];
let failures = 0;
try {
  for (const subject of subjects) subject.idleMiB = residentMiB(family(subject.running.child.pid));
  for (const { name, count, rate, stream, body, key, config } of cases) {
    const samples = new Map(subjects.map((subject) => [subject.name, []]));
    const headers = { ...plain, "x-gateway-api-key": key, "x-gateway-config": config };
    const targetOf = (subject) => ({ origin: origin(subject.port), path: "/v1/chat/completions", headers, body, stream });
    for (const subject of subjects) await closedLoop(targetOf(subject), count / 4, WIDTH);
    // Rounds in turn, so that drift of the machine falls on all alike.
    for (let round = 0; round < rounds; round++) {
      for (const subject of subjects) {
        const pids = family(subject.running.child.pid);
        const before = cpuMicros(pids);
        const started = performance.now();
        const { failed } = await closedLoop(targetOf(subject), count, WIDTH);
        failures += failed;
        samples
          .get(subject.name)
          .push({ cpu: (cpuMicros(pids) - before) / count, perSecond: (count * 1000) / (performance.now() - started) });
        say(`${name} round ${round + 1}: ${subject.name} ${samples.get(subject.name).at(-1).cpu.toFixed(0)} us CPU a request`);
      }
    }
    const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
    let base = null;
    for (const subject of subjects) {
      const { times, failed } = await fixedRate(targetOf(subject), rate, 4);
      failures += failed;
      const cpu = median(samples.get(subject.name).map((sample) => sample.cpu));
      const row = {
        case: name,
        subject: subject.name,
        cpu_us: Math.round(cpu),
        per_second: Math.round(median(samples.get(subject.name).map((sample) => sample.perSecond))),
        p50_ms: percentile(times, 0.5),
        p99_ms: percentile(times, 0.99),
      };
      base ??= row;
      rows.push({
        ...row,
        ratio: row.cpu_us / base.cpu_us,
        added_p50_ms: row.p50_ms - base.p50_ms,
        added_p99_ms: row.p99_ms - base.p99_ms,
      });
    }
  }
} finally {
  for (const subject of subjects) subject.loadedMiB = residentMiB(family(subject.running.child.pid));
  await Promise.all([...subjects.map((subject) => stop(subject.running)), stop(upstream)]);
}

const table = [
  `Node ${process.versions.node}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}; ${WIDTH} connections; median of ${rounds} rounds of ${cases.map(({ name, count }) => `${count} (${name})`).join(", ")} requests; a stream has 50 chunks; gateway key, saved config, logging on.`,
  "",
  "| case | subject | CPU us a request | ratio | requests/s | added p50 ms | added p99 ms |",
  "|---|---|---|---|---|---|---|",
  ...rows.map(
    (row) =>
      `| ${row.case} | ${row.subject} | ${row.cpu_us} | ${row.ratio.toFixed(2)} | ${row.per_second} | ${row.added_p50_ms.toFixed(2)} | ${row.added_p99_ms.toFixed(2)} |`,
  ),
  "",
  "| subject | start ms | resident MiB at start | after the run |",
  "|---|---|---|---|",
  ...subjects
    .slice(1)
    .map(
      (subject) =>
        `| ${subject.name} | ${subject.running.startMs.toFixed(0)} | ${subject.idleMiB.toFixed(0)} | ${subject.loadedMiB.toFixed(0)} |`,
    ),
].join("\n");
process.stdout.write(`${table}\n`);
const jsonFile = process.argv.find((word) => word.startsWith("--json="));
if (jsonFile !== undefined) writeFileSync(jsonFile.slice("--json=".length), JSON.stringify({ rows }, null, 2));
if (failures > 0) {
  process.stderr.write(`INVALID: ${failures} requests failed\n`);
  process.exitCode = 1;
}
