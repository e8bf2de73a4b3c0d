import type { JsonObject } from "@unigate/core";

/** A request as its client saw it. Times are Unix ms of the test. */
export interface ClientSide {
  readonly trace: string;
  readonly startedAt: number;
  /** When its answer was complete, or its connection ended. */
  readonly endedAt: number;
  /** Null: the connection ended before the answer did. */
  readonly status: number | null;
  /** It was refused before it became a request of the gateway's: an unknown key. It leaves no record. */
  readonly stranger?: boolean;
  /** How many targets its config names, default 1: one may be tried that never reaches the upstream. */
  readonly targets?: number;
  /** Name of the limit that it is under. */
  readonly limit?: string;
  /** The answer says how much of its limit is left: it was counted. */
  readonly counted?: boolean;
}

/** What reached the upstream: one try of one target. */
export interface UpstreamSide {
  readonly trace: string;
  readonly target: string;
  /** When it came, Unix ms: the request was admitted before. */
  readonly at: number;
}

/** A record as it was read back; an interrupted one has no status. */
export interface LogSide {
  readonly id: string;
  readonly trace: string;
  readonly attempt: number;
  readonly outcome: string;
  readonly status: number;
}

/** What the checker reads of a log record. */
export function logSideOf(record: JsonObject): LogSide {
  return {
    id: String(record["id"]),
    trace: String(record["trace_id"]),
    attempt: Number(record["attempt"]),
    outcome: String(record["outcome"]),
    status: Number(record["status"]),
  };
}

/** A time in which something was away. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface History {
  readonly client: readonly ClientSide[];
  readonly upstream: readonly UpstreamSide[];
  readonly log: readonly LogSide[];
  /** When the process that held the requests was killed. */
  readonly killedAt?: readonly number[];
  /** When limits could not be counted, so that requests passed without. */
  readonly uncounted?: readonly Span[];
  /** How many requests each limit lets through. */
  readonly limits?: Readonly<Record<string, number>>;
  /** Age below which what a killed process held may be lost, ms. Promised are 10. */
  readonly graceMs?: number;
}

/**
 * - lost: a target that was tried, or a request that was answered or cut off, without its record
 * - doubled: two records of one try, or a target that was sent one request twice
 * - passed: more requests than their limit lets through, or one that was not counted while it could be
 * - invented: a record of a request that nobody sent
 * - wrong: a record that tells another end than the client saw
 */
export interface Violation {
  readonly kind: "lost" | "doubled" | "passed" | "invented" | "wrong";
  readonly what: string;
}

const GRACE_MS = 10;

/** What a history breaks of what is promised; empty when it keeps it. */
export function violationsOf(history: History): Violation[] {
  return [...violationsOfRecords(history), ...violationsOfLimits(history)];
}

/** Throws when a history breaks what is promised; tells the first violations. */
export function expectKept(history: History): void {
  const found = violationsOf(history);
  if (found.length === 0) return;
  const lines = found.slice(0, 10).map(({ kind, what }) => `${kind}: ${what}`);
  throw new Error(`${found.length} violations among ${history.client.length} requests:\n${lines.join("\n")}`);
}

function violationsOfRecords({ client, upstream, log, killedAt = [], graceMs = GRACE_MS }: History): Violation[] {
  const found: Violation[] = [];
  const report = (kind: Violation["kind"], what: string): void => void found.push({ kind, what });
  const records = groupedBy(log, ({ trace }) => trace);
  const tries = groupedBy(upstream, ({ trace }) => trace);
  const known = new Set(client.map(({ trace }) => trace));
  for (const trace of records.keys()) if (!known.has(trace)) report("invented", `${trace} has a record, and nobody sent it`);
  for (const request of client) {
    const { trace, stranger = false } = request;
    const own = records.get(trace) ?? [];
    const tried = tries.get(trace) ?? [];
    const targets = tried.map(({ target }) => target);
    if (new Set(targets).size < targets.length) report("doubled", `${trace} reached a target twice: ${targets.join(", ")}`);
    if (stranger) {
      if (own.length > 0) report("invented", `${trace} was let in by nobody, and has a record`);
      continue;
    }
    const attempts = own.map(({ attempt }) => attempt);
    if (new Set(attempts).size < own.length) report("doubled", `${trace} has two records of one try: ${described(own)}`);
    const wanted = Math.max(1, new Set(targets).size);
    if (own.length > Math.max(wanted, request.targets ?? 1))
      report("doubled", `${trace} tried ${wanted} and has ${own.length} records: ${described(own)}`);
    const kill = killedAt.find((at) => request.startedAt <= at && request.endedAt > at - graceMs);
    // Before this it was admitted; when that is not known, perhaps never. What is too young is on no disk.
    const admittedAt = Math.min(...tried.map(({ at }) => at), request.status === null ? Number.POSITIVE_INFINITY : request.endedAt);
    if (admittedAt === Number.POSITIVE_INFINITY || (kill !== undefined && admittedAt > kill - graceMs)) continue;
    // Of a request that a killed process had not ended, or only just, one record tells.
    const least = kill === undefined ? wanted : 1;
    if (own.length < least) report("lost", `${trace} tried ${wanted} and has ${own.length} records: ${described(own)}`);
    const last = own.toSorted((one, other) => one.attempt - other.attempt).at(-1);
    if (last === undefined) continue;
    if (last.outcome === "interrupted" && kill === undefined)
      report("wrong", `${trace} was answered with ${request.status}, and is told as interrupted`);
    // Of what a killed process had only just ended, the record that tells the end may be the one that is lost.
    const tellsEnd = kill === undefined || own.length >= wanted;
    if (tellsEnd && last.outcome !== "interrupted" && request.status !== null && last.status !== request.status)
      report("wrong", `${trace} was answered with ${request.status}: ${described(own)}`);
  }
  return found;
}

function violationsOfLimits({ client, limits = {}, uncounted = [] }: History): Violation[] {
  const found: Violation[] = [];
  for (const [limit, most] of Object.entries(limits)) {
    const passed = client.filter((one) => one.limit === limit && one.status !== null && one.status !== 429);
    const counted = passed.filter(({ counted: isCounted = false }) => isCounted);
    if (counted.length > most) found.push({ kind: "passed", what: `${limit} lets ${most} through, and ${counted.length} passed` });
    for (const { trace, counted: isCounted = false, startedAt, endedAt } of passed) {
      if (isCounted || uncounted.some(({ from, to }) => startedAt <= to && endedAt >= from)) continue;
      found.push({ kind: "passed", what: `${trace} was not counted against ${limit}, which could be counted` });
    }
  }
  return found;
}

function groupedBy<T>(all: readonly T[], key: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(key(one));
    if (group === undefined) groups.set(key(one), [one]);
    else group.push(one);
  }
  return groups;
}

function described(records: readonly LogSide[]): string {
  return records.map(({ id, attempt, outcome, status }) => `${attempt} ${outcome} ${status} (${id})`).join("; ") || "none";
}
