import { readFileSync } from "node:fs";
import { callersOf } from "@unigate/rpc";
import { describe, expect, test } from "vitest";
import { serviceNames } from "../module.ts";
import { modules } from "../modules.ts";
import { callerTable } from "./caller-table.ts";

const served = serviceNames.flatMap((service) => {
  const { definition } = modules[service];
  if (definition === null) return [];
  const methods = Object.values(definition.methods) as { name: string }[];
  return methods.map(({ name }) => ({ service, path: `/${definition.fullName}/${name}` }));
});

test.each(served)("$path may be called by services that there are", ({ path }) => {
  const callers = callersOf(callerTable, path);
  expect(callers.length).toBeGreaterThan(0);
  expect(serviceNames).toEqual(expect.arrayContaining([...callers]));
});

test("every row is of its service, and for methods that there are", () => {
  for (const [service, rows] of Object.entries(callerTable)) {
    for (const start of Object.keys(rows))
      expect(served.filter((one) => one.service === service && one.path.startsWith(start)).length, start).toBeGreaterThan(0);
  }
});

test.each(serviceNames)("%s may call all that it needs", (caller) => {
  for (const need of modules[caller].needs) {
    const called = served.filter(({ service, path }) => service === need && callersOf(callerTable, path).includes(caller));
    expect(called.length, need).toBeGreaterThan(0);
  }
});

test("control's write methods, and all of the others, are the edge's alone", () => {
  const open = served.filter(({ path }) => callersOf(callerTable, path).join() !== "edge").map(({ path }) => path);
  expect(open).toEqual(["/unigate.control.v1.Control/Resolve", "/unigate.control.v1.Control/Watch"]);
});

describe("ARCHITECTURE.md names the callers of each port", () => {
  const text = readFileSync(new URL("../../../../ARCHITECTURE.md", import.meta.url), "utf8");

  test.each(serviceNames.filter((service) => modules[service].definition !== null))("%s", (service) => {
    const row = text.split("\n").find((line) => new RegExp(`^\\|\\s*${service}\\s*\\|`).test(line)) ?? "";
    const callers = (row.split("|")[3] ?? "").split(",").map((name) => name.trim());
    expect(callers.sort()).toEqual(serviceNames.filter((name) => modules[name].needs.includes(service)).sort());
  });
});
