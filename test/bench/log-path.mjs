// `node test/bench/log-path.mjs`: what the way of a log record costs the requests beside it, in one process with
// embedded stores: 5,000 records a second through spool, Append and store, and the p99 of small requests with and without.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newHead } from "@unigate/events";
import { createLoggingService, createLogStore } from "@unigate/logging";
import { appendDelivery, createSpool } from "@unigate/spool";
import { fixedRate, percentile } from "./load.mjs";

const RECORDS_A_SECOND = 5_000;
const SECONDS = 10;
const REQUESTS_A_SECOND = 200;
const ROUNDS = 3;

const folder = mkdtempSync(join(tmpdir(), "unigate-bench-log-"));
const store = createLogStore();
const logging = createLoggingService({ store, log: { debug() {}, info() {}, warn() {}, error() {} } });
const delivery = appendDelivery((batches, call) => logging.append(batches, call));
const spool = createSpool({ dir: folder, deliver: delivery.deliver, log: { info() {}, warn() {} } });

const body = Buffer.from(JSON.stringify({ text: "words of a question or an answer. ".repeat(22) }));
let made = 0;

/** What the edge does for a request: a line when it begins, a record with both bodies when it ends. */
function record() {
  const id = `0190aaaa-bbbb-7ccc-8ddd-${String(made++).padStart(12, "0")}`;
  const head = Object.assign(newHead(id, Date.now()), {
    trace_id: id,
    organisation_id: "org",
    workspace_id: "ws",
    provider: "openai",
    model: "m",
  });
  const message = { headers: null, body, json: true, truncated: false };
  const tenant = { organisationId: "org", workspaceId: "ws", apiKeyId: "" };
  const number = spool.started({
    time: head.time,
    traceId: id,
    spanId: "",
    parentSpanId: "",
    requestId: id,
    ...tenant,
    surface: "chat",
    method: "POST",
    path: "/",
  });
  spool.offer({ head, request: message, response: message }, number, true);
}

const server = createServer((request, response) => request.resume().on("end", () => response.end("{}")));
server.keepAliveTimeout = 60_000;
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const target = { origin: `http://127.0.0.1:${server.address().port}`, path: "/", headers: {}, body: () => body, stream: false };

/** The times of requests at a fixed rate, beside `rate` records a second. */
async function requestsBeside(rate) {
  const [started, madeBefore] = [performance.now(), made];
  const writing = setInterval(() => {
    const wanted = (rate * (performance.now() - started)) / 1_000;
    while (made - madeBefore < wanted) record();
  }, 1);
  const { times, failed } = await fixedRate(target, REQUESTS_A_SECOND, SECONDS);
  clearInterval(writing);
  if (failed > 0) throw new Error(`${failed} requests failed: the run is invalid`);
  return times;
}

await requestsBeside(RECORDS_A_SECOND);
const p99 = { without: [], beside: [] };
for (let round = 0; round < ROUNDS; round++) {
  p99.without.push(percentile(await requestsBeside(0), 0.99));
  p99.beside.push(percentile(await requestsBeside(RECORDS_A_SECOND), 0.99));
}
await spool.flush(Date.now() + 10_000);
const { dropped } = spool.stats();
const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const [without, beside] = [middle(p99.without), middle(p99.beside)];
process.stdout.write(
  `${made} records at ${RECORDS_A_SECOND} a second, ${dropped} dropped; p99 of requests ${without.toFixed(2)} ms without, ${beside.toFixed(2)} ms beside them (${((beside / without - 1) * 100).toFixed(0)} %)\n`,
);
await spool.close();
await delivery.close?.();
server.close();
rmSync(folder, { recursive: true, force: true });
