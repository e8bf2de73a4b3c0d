import { expect, test } from "vitest";
import { ADMIN, createTestApi, NOW } from "./management.fixture.ts";
import { createRequestBound } from "./request-bound.ts";

test("a key that has had its share of a minute is told when to come back, and others go on", async () => {
  const api = createTestApi({ requestsPerMinute: 3 });
  const other = await api.key(["configs.list"]);
  api.now = NOW + 15_000;
  const statuses = [];
  for (const path of ["/configs", "/nothing-there", "/configs/pc-none"]) statuses.push((await api.ask("GET", path)).status);
  expect(statuses).toEqual([200, 404, 404]);
  const refused = await api.ask("DELETE", "/configs/pc-main");
  expect([refused.status, refused.headers["retry-after"], refused.error]).toEqual([
    429,
    "45",
    { code: "rate_limited", type: "api_key_rate_limit_error", param: null, message: expect.stringContaining("3 requests") },
  ]);
  expect((await api.ask("GET", "/configs", undefined, other)).status).toBe(200);
  api.now = NOW + 59_999;
  expect((await api.ask("GET", "/configs", undefined, ADMIN)).headers["retry-after"]).toBe("1");
  api.now = NOW + 60_000;
  expect((await api.ask("GET", "/configs", undefined, ADMIN)).status).toBe(200);
});

test("a key that is gone counts nothing", async () => {
  const api = createTestApi({ requestsPerMinute: 1 });
  for (let request = 0; request < 3; request += 1)
    expect((await api.ask("GET", "/configs", undefined, { id: "key-gone" })).status).toBe(401);
});

test("0 is no bound", () => {
  const count = createRequestBound(0, { now: () => NOW });
  for (let request = 0; request < 1_000; request += 1) count("key");
});
