import { requirement } from "@unigate/testkit";
import { expect, test } from "vitest";
import { useKafkaContainer } from "./engines.ts";

const docker = requirement("docker");
let address = "";

// The suites of what speaks to Kafka, as they are.
if (docker.available) {
  address = await useKafkaContainer();
  await import("../../packages/kafka/src/kafka.test.ts");
}

test.skipIf(!docker.available)("what the suites above spoke to is the container", () => {
  expect(requirement("kafka").at).toBe(address);
});
