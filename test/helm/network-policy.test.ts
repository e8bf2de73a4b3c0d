import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { chart, helm, type KubernetesObject, parseFacts, render, root } from "./chart.ts";
import { podsOf } from "./matrix.ts";
import { only, plainVariables, specOf, workloadsOf } from "./pods.ts";

const facts = parseFacts(readFileSync(join(chart, "files/services.yaml"), "utf8"));

interface Peer {
  readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly namespaceSelector?: object;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

interface Rule {
  readonly ports?: readonly { readonly port: number; readonly protocol: string }[];
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
}

interface Policy {
  readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly policyTypes: readonly string[];
  readonly ingress: readonly Rule[];
  readonly egress: readonly Rule[];
}

const ENGINES = {
  redis: { url: "redis://gw:1:2@redis-0:6380/0,redis-1:6381" },
  database: { url: "postgres://gw:5@postgres:5433/gw" },
  kafka: { brokers: ["kafka:9094"] },
  otlp: { endpoint: "http://collector:4319/x" },
};
/** Ports by engine, as the addresses above say. */
const PORTS: Readonly<Record<string, readonly number[]>> = { redis: [6380, 6381], database: [5433], kafka: [9094], otlp: [4319] };

test("the chart's table of needs is that of the program", () => {
  const main = join(root, "services/unigate/bin/main.js");
  const { stdout } = spawnSync(process.execPath, [main, "--list-targets"], { encoding: "utf8" });
  const needs = stdout
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => {
      const [, name = "", list = ""] = /^(\w+)\s*(?:needs (.*))?$/.exec(line) ?? [];
      return [name, list === "" ? [] : list.split(", ")] as const;
    });
  expect(Object.fromEntries(Object.entries(facts.services).map(([name, service]) => [name, [...service.needs].sort()]))).toEqual(
    Object.fromEntries(needs.map(([name, list]) => [name, [...list].sort()])),
  );
  for (const pods of Object.values(facts.modes)) expect(Object.values(pods).flat().sort()).toEqual(needs.map(([name]) => name).sort());
});

describe.skipIf(!helm.available).each(["single", "mesh", "compact"] as const)("mode %s", (mode) => {
  const hosted = facts.modes[mode] ?? {};
  const names = podsOf(mode);
  /** What the services in a kind of pod need from others. */
  const needsOf = (name: string): string[] => {
    const inside = hosted[name] ?? [];
    const services = inside.flatMap((service) => facts.services[service]?.needs ?? []).filter((need) => !inside.includes(need));
    return [...new Set(services.map((need) => names.find((other) => hosted[other]?.includes(need)) ?? "nowhere"))].sort();
  };
  let objects: KubernetesObject[];
  const policies = new Map<string, Policy>();
  beforeAll(() => {
    objects = render({ mode, ...ENGINES });
    for (const name of names) policies.set(name, specOf(only(objects, "NetworkPolicy", `demo-unigate-${name}`)) as Policy);
  });
  const policyOf = (name: string): Policy => policies.get(name) as Policy;

  test("every pod has one policy, in both directions", () => {
    for (const [name, workload] of workloadsOf(objects)) {
      const own = objects.filter(({ kind }) => kind === "NetworkPolicy").map((object) => specOf(object) as Policy);
      const matching = own.filter(({ podSelector }) => podSelector.matchLabels["app.kubernetes.io/component"] === name);
      expect(matching).toHaveLength(1);
      expect(workload.labels).toMatchObject(matching[0]?.podSelector.matchLabels ?? {});
      expect(matching[0]?.policyTypes).toEqual(["Ingress", "Egress"]);
    }
  });

  test("gRPC is let in from the callers of the table only, and out to what is needed only", () => {
    for (const name of names) {
      const callers = names.filter((caller) => needsOf(caller).includes(name));
      expect(peers(policyOf(name).ingress, 50051, "from"), `into ${name}`).toEqual(callers.sort());
      expect(peers(policyOf(name).egress, 50051, "to"), `out of ${name}`).toEqual(needsOf(name));
    }
  });

  test("a service that nobody calls over gRPC listens on loopback", () => {
    for (const [name, { kind, container }] of workloadsOf(objects)) {
      if (kind === "Job" || mode === "single") continue;
      const isCalled = names.some((caller) => needsOf(caller).includes(name));
      expect(plainVariables(container)["UNIGATE_GRPC_LISTEN"]).toBe(isCalled ? ":50051" : "127.0.0.1:50051");
      expect(container.ports.some((port) => port.name === "grpc")).toBe(isCalled);
    }
  });

  test("each address is one of a Service with a gRPC port, in the pods of that service", () => {
    for (const [name, { kind, container }] of workloadsOf(objects)) {
      if (kind === "Job") continue;
      const addresses = Object.entries(plainVariables(container)).filter(([variable]) => variable.endsWith("_ADDR"));
      const inside = hosted[name] ?? [];
      const needs = [...new Set(inside.flatMap((service) => facts.services[service]?.needs ?? []))].filter(
        (need) => !inside.includes(need),
      );
      expect(addresses.map(([variable]) => variable).sort()).toEqual(needs.map((need) => `UNIGATE_${need.toUpperCase()}_ADDR`).sort());
      for (const [variable, address] of addresses) {
        const home = names.find((other) => hosted[other]?.includes(variable.slice("UNIGATE_".length, -"_ADDR".length).toLowerCase()));
        expect(address).toBe(`dns:///demo-unigate-${home}.gateways.svc:50051`);
        const service = specOf(only(objects, "Service", `demo-unigate-${home}`)) as { ports: { name: string; port: number }[] };
        expect(service.ports).toContainEqual(expect.objectContaining({ name: "grpc", port: 50051 }));
      }
    }
  });

  test("clients reach the front, Prometheus the metrics, and nobody anything else", () => {
    for (const name of names) {
      const isFront = (hosted[name] ?? []).includes("edge");
      const ports = policyOf(name).ingress.flatMap((rule) => (rule.ports ?? []).map(({ port }) => port));
      const isCalled = names.some((caller) => needsOf(caller).includes(name));
      expect(ports).toEqual([...(isFront ? [8080] : []), ...(isCalled ? [50051] : []), 9090]);
      expect(policyOf(name).ingress.every((rule) => rule.from !== undefined || rule.ports?.[0]?.port === 8080)).toBe(true);
    }
  });

  test("only connector and guardrail reach the internet, and no private address", () => {
    for (const name of names) {
      const blocks = policyOf(name).egress.filter((rule) => rule.ports === undefined);
      const mayLeave = (hosted[name] ?? []).some((service) => service === "connector" || service === "guardrail");
      expect(blocks).toHaveLength(mayLeave ? 1 : 0);
      for (const { to = [] } of blocks) {
        expect(to.map(({ ipBlock }) => ipBlock?.cidr)).toEqual(["0.0.0.0/0", "::/0"]);
        expect(to[0]?.ipBlock?.except).toEqual(expect.arrayContaining(["10.0.0.0/8", "169.254.0.0/16"]));
        expect(to[1]?.ipBlock?.except).toEqual(["fc00::/7", "fe80::/10"]);
      }
    }
  });

  test("engines are reached by those that use them, at the ports of their addresses", () => {
    for (const name of names) {
      const used = new Set((hosted[name] ?? []).flatMap((service) => facts.services[service]?.engines ?? []));
      const expected = [...used]
        .flatMap((engine) => PORTS[engine] ?? [])
        .map(String)
        .sort();
      const ports = policyOf(name).egress.flatMap((rule) => (rule.ports ?? []).map(({ port }) => port));
      expect(
        ports
          .filter((port) => port !== 53 && port !== 50051)
          .map(String)
          .sort(),
      ).toEqual(expected);
    }
  });
});

describe.skipIf(!helm.available)("given by values", () => {
  test("ports and places of engines, clients of the front, and more places to reach", () => {
    const redis = { ports: [7000, 7001], to: [{ ipBlock: { cidr: "10.1.0.0/16" } }] };
    const clients = [{ namespaceSelector: { matchLabels: { name: "apps" } } }];
    const own = { podSelector: { matchLabels: { app: "vllm" } } };
    const objects = render({
      mode: "mesh",
      redis: { existingSecret: { name: "given" } },
      networkPolicy: { engines: { redis }, clients, internetExtra: [own] },
    });
    const policy = (name: string): Policy => specOf(only(objects, "NetworkPolicy", `demo-unigate-${name}`)) as Policy;
    expect(policy("policy").egress).toContainEqual({ ports: redis.ports.map((port) => ({ port, protocol: "TCP" })), to: redis.to });
    expect(policy("edge").ingress[0]).toEqual({ ports: [{ port: 8080, protocol: "TCP" }], from: clients });
    expect(policy("connector").egress.at(-1)?.to).toContainEqual(own);
  });
});

/** The components that rules let through on a port. */
function peers(rules: readonly Rule[], port: number, direction: "from" | "to"): string[] {
  return rules
    .filter((rule) => rule.ports?.some((one) => one.port === port))
    .flatMap((rule) => rule[direction] ?? [])
    .map(({ podSelector }) => podSelector?.matchLabels["app.kubernetes.io/component"] ?? "anybody")
    .sort();
}
