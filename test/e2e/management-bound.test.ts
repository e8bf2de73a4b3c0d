import { gatewayModes } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { send } from "./http.ts";
import { useStage } from "./stage.ts";

const MOST = 5;
/** The minute may turn once between the requests. */
const ENOUGH = 2 * MOST + 1;

describe.each(gatewayModes)("the bound of the management API, %s", (mode) => {
  const stage = useStage(mode, { env: { UNIGATE_MANAGEMENT_RPM: String(MOST) } });
  const ask = (path: string) => send(stage.gateway, path, { headers: { "x-gateway-api-key": stage.key } });

  test("a key that asks too often is told when to come back, and its other requests go on", async () => {
    const answers = [];
    for (let request = 0; request < ENOUGH; request += 1) answers.push(await ask("/v1/virtual-keys"));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.error()).toMatchObject({ code: "rate_limited", type: "api_key_rate_limit_error", param: null });
    const seconds = Number(refused?.headers["retry-after"]);
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(MOST);
    for (let request = 0; request <= MOST; request += 1) expect((await ask("/v1/models")).status).toBe(200);
  });
});
