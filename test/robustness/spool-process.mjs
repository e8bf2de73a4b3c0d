// An edge without its HTTP: requests that begin, try one or two targets and end, their records into a spool that
// delivers to the logging service. It tells on stdout, before anything else happens, what it did and when, so that
// whoever kills it knows. Words: folder of the spools, address of logging, seed, requests, how it ends.
import { readdirSync, writeSync } from "node:fs";
import { stat } from "node:fs/promises";
import { LoggingDefinition } from "@unigate/contracts";
import { newHead } from "@unigate/events";
import { openChannel } from "@unigate/rpc";
import { appendDelivery, createSpool } from "@unigate/spool";

const [dir = "", address = "", seed = "0", requests = "0", ending = "stay"] = process.argv.slice(2);
let state = Number(seed);
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const tell = (...words) => writeSync(1, `${words.join(" ")}\n`);

const delivery = appendDelivery(openChannel({ address }).port(LoggingDefinition).append);
const spool = createSpool({
  dir,
  deliver: delivery.deliver,
  log: { info() {}, warn() {} },
  limits: { segmentBytes: 30_000, tailBytes: 20_000, backoffMs: 5, maxBackoffMs: 40, deliverTimeoutMs: 300, deliverDelayMs: 2 },
});
let offered = 0;

function offer(trace, number, attempt, isLast) {
  const head = newHead(`${trace}-${attempt}`, Date.now());
  Object.assign(head, { trace_id: trace, organisation_id: "org", workspace_id: "ws", attempt, status: isLast ? 200 : 500 });
  head.outcome = isLast ? "success" : "failed";
  const body = Buffer.alloc(Math.floor(random() * 3_000), "x");
  spool.offer({ head, request: { headers: null, body, json: false, truncated: false }, response: null }, number, isLast);
  offered += 1;
}

async function request(index) {
  const trace = `${seed}-${index}`;
  const started = { time: Date.now(), traceId: trace, spanId: "", parentSpanId: "", requestId: trace };
  const number = spool.started({
    ...started,
    organisationId: "org",
    workspaceId: "ws",
    apiKeyId: "",
    surface: "chat",
    method: "POST",
    path: "/",
  });
  tell("started", trace, Date.now());
  const targets = random() < 0.3 ? 2 : 1;
  for (let attempt = 0; attempt < targets; attempt++) {
    tell("tried", trace, Date.now(), attempt);
    if (random() < 0.8) await sleep(random() * 25);
    offer(trace, number, attempt, attempt === targets - 1);
  }
  tell("ended", trace, Date.now());
}

// How long the machine takes to do something with a file, now and at worst: what a spool cannot be faster than.
let [probedSince, slowest] = [0, 0];
async function probe() {
  for (;;) {
    probedSince = performance.now();
    await stat(dir);
    slowest = Math.max(slowest, performance.now() - probedSince);
    probedSince = 0;
    await sleep(1);
  }
}
void probe();

/** Once each ms: that it runs, how many of its records the kernel has, and how slow the machine is. */
setInterval(() => {
  const now = probedSince === 0 ? 0 : performance.now() - probedSince;
  tell("alive", "-", Date.now(), offered - spool.stats().waitingRecords, Math.ceil(Math.max(slowest, now)));
}, 1);

// As an edge, which takes longer to listen.
while (!readdirSync(dir, { recursive: true }).some((name) => name.endsWith("owner"))) await sleep(1);
const all = [];
for (let index = 0; index < Number(requests); index++) {
  all.push(request(index));
  if (random() < 0.7) await sleep(random() * 6);
}
await Promise.all(all);
tell("all", "-", Date.now());
if (ending === "close") {
  await spool.flush(Date.now() + 50);
  await spool.close();
  await delivery.close();
  process.exit(0);
}
