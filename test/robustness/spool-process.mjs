// An edge without its HTTP: requests that begin, try one or two targets and end, their records into a spool that
// delivers to the logging service. It tells on stdout, before anything else happens, what it did and when, so that
// whoever kills it knows. Words: folder of the spools, address of logging, seed, requests, how it ends.
// Its times are ms in which it could do something: while the machine does not let it run, or holds a file call, its clock
// stands.
import fs, { readdirSync, writeSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
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
/** What the clock goes forward at most between two looks at it, ms: a longer time is one that the machine took. */
const TICK_MS = 1;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const filesWereBusy = watchFileCalls();
let [clock, tickedAt] = [0, performance.now()];
/** The point at the end says that the line is whole. */
const tell = (what, trace, more) => writeSync(1, `${what} ${trace} ${clock.toFixed(3)} ${more} .\n`);

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
  tell("started", trace, 0);
  const targets = random() < 0.3 ? 2 : 1;
  for (let attempt = 0; attempt < targets; attempt++) {
    tell("tried", trace, attempt);
    if (random() < 0.8) await sleep(random() * 25);
    offer(trace, number, attempt, attempt === targets - 1);
  }
  tell("ended", trace, 0);
}

/** Once each ms: that it runs, and how many of its records the kernel has. */
setInterval(() => {
  const now = performance.now();
  if (!filesWereBusy()) clock += Math.min(now - tickedAt, TICK_MS);
  tickedAt = now;
  tell("alive", "-", offered - spool.stats().waitingRecords);
}, 1);

// As an edge, which takes longer to listen.
while (!readdirSync(dir, { recursive: true }).some((name) => name.endsWith("owner"))) await sleep(1);
const all = [];
for (let index = 0; index < Number(requests); index++) {
  all.push(request(index));
  if (random() < 0.7) await sleep(random() * 6);
}
await Promise.all(all);
tell("all", "-", 0);
if (ending === "close") {
  await spool.flush(Date.now() + 50);
  await spool.close();
  await delivery.close();
  process.exit(0);
}

/** Gives whether, since it was asked last, the kernel had a file call of those that a write is made of. */
function watchFileCalls() {
  let [underWay, wereSome] = [0, false];
  const begin = () => {
    underWay += 1;
    wereSome = true;
    return () => void (underWay -= 1);
  };
  const { write } = fs;
  fs.write = (...words) => {
    const [end, done] = [begin(), words.pop()];
    write(...words, (...answer) => {
      end();
      done(...answer);
    });
  };
  for (const name of ["open", "stat"]) {
    const original = fs.promises[name];
    fs.promises[name] = (...words) => original(...words).finally(begin());
  }
  syncBuiltinESMExports();
  return () => {
    const answer = wereSome;
    wereSome = underWay > 0;
    return answer;
  };
}
