// Closed-loop and fixed-rate load over kept connections; every answer is read to its end and checked.
import { Pool } from "undici";

/** Sends one request and resolves with its time in ms; rejects on anything but a whole 200 answer. */
function once(pool, target) {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    let status = 0;
    let last = "";
    pool.dispatch(
      { method: "POST", path: target.path, headers: target.headers, body: target.body() },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          status = code;
        },
        onResponseData(_controller, data) {
          last = data;
        },
        onResponseEnd() {
          const tail = last.subarray(Math.max(0, last.length - 16)).toString("utf8");
          const whole = target.stream ? tail.endsWith("[DONE]\n\n") : tail.trimEnd().endsWith("}");
          if (status === 200 && whole) resolve(performance.now() - started);
          else reject(new Error(`status ${status}, answer ends in ${JSON.stringify(tail)}`));
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      },
    );
  });
}

/** `count` requests, `width` at a time. Gives the times and the failures. */
export async function closedLoop(target, count, width) {
  const pool = new Pool(target.origin, { connections: width, pipelining: 1 });
  const times = [];
  let [left, failed] = [count, 0];
  const worker = async () => {
    while (left-- > 0) {
      try {
        times.push(await once(pool, target));
      } catch {
        failed += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  await pool.close();
  return { times, failed };
}

/** `rate` requests a second for `seconds`, whether or not earlier ones are answered. */
export async function fixedRate(target, rate, seconds) {
  const pool = new Pool(target.origin, { connections: 64, pipelining: 1 });
  const pending = [];
  let failed = 0;
  const times = [];
  const started = performance.now();
  for (let index = 0; index < rate * seconds; index++) {
    const due = started + (index * 1000) / rate;
    const wait = due - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    pending.push(
      once(pool, target).then(
        (time) => times.push(time),
        () => {
          failed += 1;
        },
      ),
    );
  }
  await Promise.all(pending);
  await pool.close();
  return { times, failed };
}

export function percentile(times, share) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
