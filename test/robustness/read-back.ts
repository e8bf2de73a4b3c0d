import type { JsonObject } from "@unigate/core";
import { type Gateway, until } from "@unigate/testkit";
import { send } from "../e2e/http.ts";
import { type History, type LogSide, logSideOf, violationsOf } from "./history.ts";

const PAGE = 100;

/** All records whose trace begins with `name`, as GET /v1/logs lists them. */
async function recordsOf(gateway: Gateway, key: string, name: string, from: number): Promise<LogSide[]> {
  const found: LogSide[] = [];
  let cursor = "";
  do {
    const answer = await send(gateway, `/v1/logs?limit=${PAGE}&from=${from}${cursor}`, { headers: { "x-gateway-api-key": key } });
    if (answer.status !== 200) throw new Error(`the logs answer ${answer.status}: ${answer.text}`);
    const page = answer.json() as { data: JsonObject[]; next_cursor: string | null };
    found.push(...page.data.map(logSideOf));
    cursor = page.next_cursor === null ? "" : `&cursor=${encodeURIComponent(page.next_cursor)}`;
  } while (cursor !== "");
  return found.filter(({ trace }) => trace.startsWith(`${name}-`));
}

/**
 * The records of a load, once nothing of it is missing any more and all of `traces` have one. After `patienceMs` they are given as they are, for the
 * checker to tell what is wrong.
 */
export async function readBack(
  gateway: Gateway,
  key: string,
  name: string,
  history: Omit<History, "log">,
  patienceMs: number,
  traces: readonly string[] = [],
): Promise<LogSide[]> {
  const from = Math.min(...history.client.map(({ startedAt }) => startedAt)) - 60_000;
  let log: LogSide[] = [];
  await until(
    `the records of ${name}`,
    async () => {
      log = await recordsOf(gateway, key, name, from);
      if (!traces.every((wanted) => log.some(({ trace }) => trace === wanted))) return false;
      return !violationsOf({ ...history, log }).some(({ kind }) => kind === "lost" || kind === "wrong");
    },
    patienceMs,
  ).catch((error: unknown) => {
    if (log.length === 0) throw error;
  });
  return log;
}
