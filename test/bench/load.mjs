// Closed-loop and fixed-rate load over kept connections; every answer is read to its end and checked.
import { Pool } from "undici";

const DEADLINE_MS = 30_000;
const FIRST_ANSWER_MS = 10_000;

const connect = (target, connections) =>
  new Pool(target.origin, { connections, pipelining: 1, headersTimeout: DEADLINE_MS, bodyTimeout: DEADLINE_MS });

/** Sends one request and resolves with its time in ms; rejects on anything but a whole 200 answer with the cache status asked for. */
function once(pool, target) {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    let status = 0;
    let cacheStatus;
    let last = "";
    pool.dispatch(
      { method: "POST", path: target.path, headers: target.headers, body: target.body() },
      {
        onRequestStart() {},
        onResponseStart(_controller, code, headers) {
          status = code;
          cacheStatus = headers["x-gateway-cache-status"];
        },
        onResponseData(_controller, data) {
          last = data;
        },
        onResponseEnd() {
          const tail = last.subarray(Math.max(0, last.length - 16)).toString("utf8");
          const whole = target.stream ? tail.endsWith("[DONE]\n\n") : tail.trimEnd().endsWith("}");
          const isAsWanted = target.cacheStatus === undefined || target.cacheStatus === cacheStatus;
          if (status === 200 && whole && isAsWanted) resolve(performance.now() - started);
          else reject(new Error(`status ${status}, cache ${cacheStatus ?? "not named"}, answer ends in ${JSON.stringify(tail)}`));
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      },
    );
  });
}

/** Times of the requests that worked; how many did not, and what the first of them met. */
function tally() {
  const result = { times: [], failed: 0, reason: null };
  const add = (request) =>
    request.then(
      (time) => result.times.push(time),
      (error) => {
        result.failed += 1;
        result.reason ??= error.message;
      },
    );
  return { result, add };
}

/** `count` requests, `width` at a time. */
export async function closedLoop(target, count, width) {
  const pool = connect(target, width);
  const { result, add } = tally();
  let left = count;
  const worker = async () => {
    while (left-- > 0) await add(once(pool, target));
  };
  await Promise.all(Array.from({ length: width }, worker));
  await pool.close();
  return result;
}

/** `rate` requests a second for `seconds`, whether or not earlier ones are answered, over at most `width` connections. */
export async function fixedRate(target, rate, seconds, width = 64) {
  const pool = connect(target, width);
  const { result, add } = tally();
  const pending = [];
  const started = performance.now();
  for (let index = 0; index < rate * seconds; index++) {
    const due = started + (index * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    pending.push(add(once(pool, target)));
  }
  await Promise.all(pending);
  await pool.close();
  return result;
}

/** Resolves once a request is answered as wanted; gives up after 10 s. */
export async function firstAnswer(target) {
  const givesUpAt = performance.now() + FIRST_ANSWER_MS;
  for (;;) {
    const { failed, reason } = await closedLoop(target, 1, 1);
    if (failed === 0) return;
    if (performance.now() > givesUpAt) throw new Error(`${target.origin} does not answer: ${reason}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function percentile(times, share) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
