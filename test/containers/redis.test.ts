import { requirement } from "@unigate/testkit";
import { expect, test } from "vitest";
import { useRedisContainer } from "./engines.ts";

const available = requirement("docker").available && requirement("long").available;
let address = "";

// The suites of what speaks to Redis, as they are.
if (available) {
  address = await useRedisContainer();
  await import("../../packages/storage/src/redis/link.test.ts");
  await import("../../packages/storage/src/counters/counters.test.ts");
}

test.skipIf(!available)("what the suites above spoke to is the container", () => {
  expect(requirement("redis").at).toBe(address);
});
