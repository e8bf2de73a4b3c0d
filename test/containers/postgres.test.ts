import { requirement } from "@unigate/testkit";
import { expect, test } from "vitest";
import { usePostgresContainer } from "./engines.ts";

const available = requirement("docker").available && requirement("long").available;
let address = "";

// The suites of what speaks to Postgres, as they are.
if (available) {
  address = await usePostgresContainer();
  await import("../../packages/sql/src/engine.test.ts");
  await import("../../services/logging/src/sql/sql-log-store.test.ts");
  await import("../../services/logging/src/log-store.test.ts");
}

test.skipIf(!available)("what the suites above spoke to is the container", () => {
  expect(requirement("postgres").at).toBe(address);
});
