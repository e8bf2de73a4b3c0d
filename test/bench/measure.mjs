// Drives one case against the subjects: warm-up, rounds for CPU time, then a fixed rate for latency.
import { cpuMicros } from "./accounts.mjs";
import { closedLoop, firstAnswer, fixedRate, percentile } from "./load.mjs";

const LEAST_WIDTH = 64;

/** What a case sends to a running subject. */
export function targetOf(item, { subject, port, upstream }) {
  return {
    origin: `http://127.0.0.1:${port}`,
    path: "/v1/chat/completions",
    headers: { "content-type": "application/json", ...subject.headers(item, upstream) },
    body: item.body,
    stream: item.stream,
    cacheStatus: subject.isGateway ? item.cacheStatus : undefined,
  };
}

/**
 * Rows of results, the first that of the minimal proxy, which the others are compared with. `onProgress` gets a line now
 * and then, `onProblem` each thing that makes the run invalid.
 */
export async function measureCase(item, all, { rounds, seconds, scale, onProgress, onProblem }) {
  const { name, connections, rate } = item;
  const count = scaled(item.count, scale);
  const check = (one, during, { failed, reason }) => {
    if (failed > 0) onProblem(`${name}, ${one.subject.title}, ${during}: ${failed} requests failed, the first with: ${reason}`);
  };
  const running = [];
  for (const one of all) {
    try {
      // Also what puts the answer into the cache, where a case wants it there.
      await firstAnswer(targetOf(item, one));
    } catch (error) {
      onProblem(`${name}, ${one.subject.title}: left out, for ${error.message}`);
      continue;
    }
    check(one, "warm-up", await closedLoop(targetOf(item, one), scaled(item.warmUp, scale), connections));
    running.push(one);
  }
  if (running[0] !== all[0]) return [];
  const samples = new Map(running.map((one) => [one, []]));
  // Rounds in turn, so that drift of the machine falls on all alike.
  for (let round = 1; round <= rounds; round++) {
    for (const one of running) {
      const before = cpuMicros(one.child.pid);
      const started = performance.now();
      const result = await closedLoop(targetOf(item, one), count, connections);
      const took = performance.now() - started;
      const after = cpuMicros(one.child.pid);
      check(one, `round ${round}`, result);
      if ([...before.keys()].some((pid) => !after.has(pid))) onProblem(`${name}, ${one.subject.title}, round ${round}: a process ended`);
      const byPid = new Map([...after].map(([pid, micros]) => [pid, (micros - (before.get(pid) ?? 0)) / count]));
      const cpu = [...byPid.values()].reduce((sum, micros) => sum + micros, 0);
      samples.get(one).push({ cpu, byPid, perSecond: (count * 1000) / took });
      onProgress(`${name} round ${round}: ${one.subject.title} ${cpu.toFixed(0)} us CPU a request`);
    }
  }
  const rows = [];
  for (const one of running) {
    const latency = await fixedRate(targetOf(item, one), rate, seconds, Math.max(connections, LEAST_WIDTH));
    check(one, `${rate} a second`, latency);
    rows.push(rowOf(item, one, samples.get(one), latency.times, count));
  }
  const [base] = rows;
  return rows.map((row) => ({
    ...row,
    ratio: row.cpu_us / base.cpu_us,
    added_p50_ms: row.p50_ms - base.p50_ms,
    added_p99_ms: row.p99_ms - base.p99_ms,
  }));
}

const scaled = (count, scale) => Math.max(1, Math.round(count * scale));

function rowOf(item, { subject, roles }, taken, times, count) {
  return {
    case: item.name,
    subject: subject.title,
    requests_a_round: count,
    connections: item.connections,
    goal: item.goals?.[subject.name] ?? null,
    cpu_us: middle(taken.map(({ cpu }) => cpu)),
    per_second: middle(taken.map(({ perSecond }) => perSecond)),
    p50_ms: percentile(times, 0.5),
    p99_ms: percentile(times, 0.99),
    cpu_us_by_process: byProcess(taken, roles),
  };
}

/** Means over the rounds, so that they add up: `[{ process, cpu_us }]`, workers together, the dearest first. */
function byProcess(taken, roles) {
  const sums = new Map();
  for (const { byPid } of taken)
    for (const [pid, micros] of byPid) {
      const role = roles.get(pid) ?? "other";
      sums.set(role, (sums.get(role) ?? 0) + micros / taken.length);
    }
  return [...sums].map(([process, cpu_us]) => ({ process, cpu_us })).sort((a, b) => b.cpu_us - a.cpu_us);
}

function middle(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
