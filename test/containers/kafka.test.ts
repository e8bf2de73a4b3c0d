import { requirement } from "@unigate/testkit";
import { expect, test } from "vitest";
import { useKafkaContainer } from "./engines.ts";

const available = requirement("docker").available && requirement("long").available;
let address = "";

// The suites of what speaks to Kafka, as they are.
if (available) {
  address = await useKafkaContainer();
  await import("../../packages/kafka/src/kafka.test.ts");
}

test.skipIf(!available)("what the suites above spoke to is the container", () => {
  expect(requirement("kafka").at).toBe(address);
});
