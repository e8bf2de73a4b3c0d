// A client of the limits, as policy is: reservations one after the other over Redis, until it is killed. It tells on
// stdout, before and after each, what it asks and what it got. Words: Redis URL, organisation, limit, seed.
import { writeSync } from "node:fs";
import { Secret } from "@unigate/core";
import { createRedisCounters, openRedis, readRedisAddress } from "@unigate/storage";

const [url = "", organisationId = "", limit = "0", seed = ""] = process.argv.slice(2);
const tell = (...words) => writeSync(1, `${words.join(" ")}\n`);
const counters = createRedisCounters(await openRedis({ address: readRedisAddress(new Secret(url)), name: "unigate-test" }));
const take = { limitId: "limit", bucket: "", measure: "requests", windowMs: 86_400_000, limit: Number(limit), amount: 1 };

tell("ready", "-");
for (let index = 0; ; index++) {
  const reservationId = `${seed}-child-${index}`;
  tell("asks", reservationId);
  try {
    const { request } = await counters.reserve({
      organisationId,
      reservationId,
      attempt: 0,
      leaseMs: 60_000,
      request: [take],
      target: null,
    });
    tell(request?.allowed === true ? "passed" : "refused", reservationId);
    if (request?.allowed !== true) await new Promise((resolve) => setTimeout(resolve, 5));
  } catch {
    tell("unknown", reservationId);
  }
}
