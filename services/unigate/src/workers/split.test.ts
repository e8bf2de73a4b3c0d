import { availableParallelism } from "node:os";
import { buildSettings } from "@unigate/runtime";
import { expect, test } from "vitest";
import { splitServices, workerCount } from "./split.ts";

const REDIS = { UNIGATE_REDIS_URL: "redis://127.0.0.1:6379" };
const ELSEWHERE = Object.fromEntries(
  ["CONTROL", "LOGGING", "ROUTER", "CACHE", "POLICY", "GUARDRAIL", "CONNECTOR"].map((name) => [`UNIGATE_${name}_ADDR`, "mesh:50051"]),
);

test.each<[string, Record<string, string>, string[], string[]]>([
  ["all", {}, ["control", "logging", "router", "cache", "policy"], ["guardrail", "connector", "edge"]],
  ["all", REDIS, ["control", "logging"], ["router", "cache", "policy", "guardrail", "connector", "edge"]],
  ["edge", ELSEWHERE, [], ["edge"]],
  ["edge,policy,connector", ELSEWHERE, ["policy"], ["connector", "edge"]],
  ["edge,policy,connector", { ...ELSEWHERE, ...REDIS }, [], ["policy", "connector", "edge"]],
])("--target=%s %j", (target, environment, primary, worker) => {
  const split = splitServices(buildSettings(environment, target));
  expect(split).toMatchObject({ primary, worker });
  expect(new Set(split.names)).toEqual(new Set([...primary, ...worker]));
});

test("without an edge there is nothing to share", () => {
  expect(() => splitServices(buildSettings(ELSEWHERE, "router,cache"))).toThrow(
    "workers share the HTTP port, and router, cache has none: leave --workers and UNIGATE_WORKERS out, or add edge to --target",
  );
});

test("auto is one a processor", () => {
  expect(workerCount(buildSettings({}, undefined))).toBe(1);
  expect(workerCount(buildSettings({}, undefined, "3"))).toBe(3);
  expect(workerCount(buildSettings({}, undefined, "auto"))).toBe(Math.min(64, availableParallelism()));
});
