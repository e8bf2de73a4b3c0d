import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readProcess } from "@unigate/runtime";

/** Something that a suite needs and a machine may lack. */
export type RequirementName =
  | "fixtures"
  | "redis"
  | "redis-server"
  | "redis-cluster"
  | "kafka"
  | "kafka-server"
  | "postgres"
  | "pglite"
  | "long"
  | "docker"
  | "compose"
  | "chromium"
  | "helm"
  | "k8s-schemas";

/** Whether it is there. `at` is its address, or its folder or file. */
export type Requirement =
  | { readonly available: true; readonly at: string; readonly reason: "" }
  | { readonly available: false; readonly at: ""; readonly reason: string };

type Environment = Readonly<Record<string, string | undefined>>;

/** How each is found: where it is, or what would have to be done. */
const FINDERS: Readonly<Record<RequirementName, (environment: Environment) => { at: string } | { missing: string }>> = {
  fixtures: (environment) => {
    const folder = environment["UNIGATE_FIXTURES"] || fileURLToPath(new URL("../../../../shared/fixtures", import.meta.url));
    return existsSync(folder) ? { at: folder } : { missing: `no recorded traffic at ${folder}; UNIGATE_FIXTURES names another folder` };
  },
  redis: (environment) => fromVariable(environment, "UNIGATE_REDIS_URL"),
  // A suite that stops its Redis starts one of its own.
  "redis-server": (environment) => fromPath(environment, "redis-server", "UNIGATE_REDIS_SERVER"),
  "redis-cluster": (environment) => fromVariable(environment, "UNIGATE_REDIS_CLUSTER_URL"),
  kafka: (environment) => fromVariable(environment, "UNIGATE_KAFKA_BROKERS"),
  // A suite whose broker refuses things starts one of its own.
  "kafka-server": (environment) => {
    const folder = environment["UNIGATE_KAFKA_SERVER"] ?? "";
    if (folder === "" || !existsSync(folder)) return { missing: "no folder of Kafka's jars; UNIGATE_KAFKA_SERVER names one" };
    const java = (environment["PATH"] ?? "").split(delimiter).some((each) => existsSync(join(each, "java")));
    return java ? { at: folder } : { missing: "no java in PATH" };
  },
  // An embedded database may be named there as well.
  postgres: (environment) =>
    environment["UNIGATE_DATABASE_URL"]?.startsWith("pglite:") === true
      ? { missing: "no server in UNIGATE_DATABASE_URL" }
      : fromVariable(environment, "UNIGATE_DATABASE_URL"),
  // It is always there, and its suites take minutes: who works on them asks for them, and CI does.
  pglite: (environment) => fromVariable(environment, "UNIGATE_TEST_PGLITE"),
  // Time: suites that take a minute each.
  long: (environment) => fromVariable(environment, "UNIGATE_TEST_LONG"),
  docker: (environment) => {
    const host = environment["DOCKER_HOST"];
    if (host !== undefined && host !== "") return { at: host };
    const socket = "/var/run/docker.sock";
    return existsSync(socket) ? { at: `unix://${socket}` } : { missing: `no Docker socket at ${socket}; DOCKER_HOST names another one` };
  },
  compose: (environment) => fromPath(environment, "docker-compose", "UNIGATE_COMPOSE"),
  chromium: (environment) => {
    const file = environment["UNIGATE_CHROMIUM"] || "/usr/bin/chromium";
    return existsSync(file) ? { at: file } : { missing: `no browser at ${file}; UNIGATE_CHROMIUM names another one` };
  },
  // Helm 3; kubeconform lies beside it.
  helm: (environment) => {
    const folder = environment["UNIGATE_HELM_BIN"];
    const file = folder ? join(folder, "helm") : inPath(environment, "helm");
    return existsSync(file) ? { at: file } : { missing: "no helm in PATH; UNIGATE_HELM_BIN names a folder with it and kubeconform" };
  },
  "k8s-schemas": (environment) => fromVariable(environment, "UNIGATE_K8S_SCHEMAS"),
};

/** Where a program is; "" = not in PATH. */
function inPath(environment: Environment, program: string): string {
  const files = (environment["PATH"] ?? "").split(delimiter).map((folder) => join(folder, program));
  return files.find((file) => existsSync(file)) ?? "";
}

/**
 * What a suite needs, for `describe.skipIf(!needed.available)`: the reason is printed when it is missing. Throws, so
 * that the suite fails, when `UNIGATE_REQUIRE` (comma-separated names) says that it must be there.
 */
export function requirement(name: RequirementName, environment: Environment = readProcess().environment): Requirement {
  const required = requiredNames(environment);
  const found = FINDERS[name](environment);
  if ("at" in found) return { available: true, at: found.at, reason: "" };
  if (required.has(name)) throw new Error(`UNIGATE_REQUIRE names ${name}, and there is ${found.missing}`);
  process.stdout.write(`skipped without ${name}: ${found.missing}\n`);
  return { available: false, at: "", reason: found.missing };
}

function requiredNames(environment: Environment): Set<string> {
  const names = (environment["UNIGATE_REQUIRE"] ?? "").split(",").map((name) => name.trim());
  const known = Object.keys(FINDERS);
  const unknown = names.find((name) => name !== "" && !known.includes(name));
  if (unknown !== undefined) throw new Error(`UNIGATE_REQUIRE names "${unknown}"; expected some of ${known.join(", ")}`);
  return new Set(names);
}

/** A program that PATH or a variable of its own leads to. */
function fromPath(environment: Environment, program: string, variable: string): { at: string } | { missing: string } {
  const file = environment[variable] || inPath(environment, program);
  return existsSync(file) ? { at: file } : { missing: `no ${program} in PATH; ${variable} names one elsewhere` };
}

function fromVariable(environment: Environment, variable: string): { at: string } | { missing: string } {
  const value = environment[variable];
  return value === undefined || value === "" ? { missing: `no ${variable}` } : { at: value };
}
