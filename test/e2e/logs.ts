import type { JsonObject } from "@unigate/core";
import { type Gateway, until } from "@unigate/testkit";
import { send } from "./http.ts";

/** The log records of one trace, in the order of the attempts, once there are `count` of them. */
export async function logsOf(gateway: Pick<Gateway, "origin">, key: string, traceId: string, count: number): Promise<JsonObject[]> {
  return until(`${count} log records of trace ${traceId}`, async () => {
    const answer = await send(gateway, `/v1/logs?trace_id=${encodeURIComponent(traceId)}`, { headers: { "x-gateway-api-key": key } });
    const records = answer.json()["data"] as JsonObject[] | undefined;
    if (records === undefined) throw new Error(answer.text);
    if (records.length > count) throw new Error(`${records.length} records: ${answer.text}`);
    return records.length === count ? records.sort((one, other) => Number(one["attempt"]) - Number(other["attempt"])) : false;
  });
}

/** One log record with its bodies. */
export async function logOf(gateway: Gateway, key: string, id: string): Promise<JsonObject> {
  const answer = await send(gateway, `/v1/logs/${id}`, { headers: { "x-gateway-api-key": key } });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json();
}
