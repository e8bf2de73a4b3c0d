import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { requirement } from "./requirements.ts";

const NOWHERE = join(tmpdir(), "unigate-no-such-thing");
const WITH_JAVA = mkdtempSync(join(tmpdir(), "unigate-java-"));
writeFileSync(join(WITH_JAVA, "java"), "");
afterAll(() => rmSync(WITH_JAVA, { recursive: true }));

test.each([
  ["fixtures", { UNIGATE_FIXTURES: tmpdir() }, tmpdir()],
  ["redis", { UNIGATE_REDIS_URL: "redis://127.0.0.1:6379" }, "redis://127.0.0.1:6379"],
  ["redis-server", { UNIGATE_REDIS_SERVER: process.execPath }, process.execPath],
  ["redis-cluster", { UNIGATE_REDIS_CLUSTER_URL: "redis://127.0.0.1:1,127.0.0.1:2" }, "redis://127.0.0.1:1,127.0.0.1:2"],
  ["kafka", { UNIGATE_KAFKA_BROKERS: "127.0.0.1:9092" }, "127.0.0.1:9092"],
  ["kafka-server", { UNIGATE_KAFKA_SERVER: tmpdir(), PATH: WITH_JAVA }, tmpdir()],
  ["postgres", { UNIGATE_DATABASE_URL: "postgres://127.0.0.1/x" }, "postgres://127.0.0.1/x"],
  ["pglite", { UNIGATE_TEST_PGLITE: "1" }, "1"],
  ["long", { UNIGATE_TEST_LONG: "1" }, "1"],
  ["docker", { DOCKER_HOST: "tcp://127.0.0.1:2375" }, "tcp://127.0.0.1:2375"],
  ["compose", { UNIGATE_COMPOSE: process.execPath }, process.execPath],
  ["chromium", { UNIGATE_CHROMIUM: process.execPath }, process.execPath],
  ["k8s-schemas", { UNIGATE_K8S_SCHEMAS: tmpdir() }, tmpdir()],
] as const)("%s is found", (name, environment, at) => {
  expect(requirement(name, { ...environment, UNIGATE_REQUIRE: name })).toEqual({ available: true, at, reason: "" });
});

test.each([
  ["fixtures", { UNIGATE_FIXTURES: NOWHERE }, `no recorded traffic at ${NOWHERE}; UNIGATE_FIXTURES names another folder`],
  ["redis", {}, "no UNIGATE_REDIS_URL"],
  ["redis-server", { PATH: NOWHERE }, "no redis-server in PATH; UNIGATE_REDIS_SERVER names one elsewhere"],
  ["redis-cluster", {}, "no UNIGATE_REDIS_CLUSTER_URL"],
  ["kafka", { UNIGATE_KAFKA_BROKERS: "" }, "no UNIGATE_KAFKA_BROKERS"],
  ["kafka-server", { PATH: WITH_JAVA }, "no folder of Kafka's jars; UNIGATE_KAFKA_SERVER names one"],
  ["kafka-server", { UNIGATE_KAFKA_SERVER: tmpdir(), PATH: NOWHERE }, "no java in PATH"],
  ["postgres", {}, "no UNIGATE_DATABASE_URL"],
  ["postgres", { UNIGATE_DATABASE_URL: "pglite:" }, "no server in UNIGATE_DATABASE_URL"],
  ["compose", { PATH: NOWHERE }, "no docker-compose in PATH; UNIGATE_COMPOSE names one elsewhere"],
  ["chromium", { UNIGATE_CHROMIUM: NOWHERE }, `no browser at ${NOWHERE}; UNIGATE_CHROMIUM names another one`],
  ["helm", { UNIGATE_HELM_BIN: NOWHERE }, "no helm in PATH; UNIGATE_HELM_BIN names a folder with it and kubeconform"],
  ["k8s-schemas", {}, "no UNIGATE_K8S_SCHEMAS"],
] as const)("%s is missing: a reason, or a failure when it is required", (name, environment, reason) => {
  expect(requirement(name, { ...environment, UNIGATE_REQUIRE: "docker" })).toEqual({ available: false, at: "", reason });
  const required = { ...environment, UNIGATE_REQUIRE: ` docker , ${name}` };
  expect(() => requirement(name, required)).toThrow(`UNIGATE_REQUIRE names ${name}, and there is ${reason}`);
});

test("a name that nobody knows is refused, or nothing would be required", () => {
  expect(() => requirement("redis", { UNIGATE_REQUIRE: "redsi" })).toThrow(
    'UNIGATE_REQUIRE names "redsi"; expected some of fixtures, redis',
  );
});
