import { buildSettings, settingSpecs } from "@unigate/runtime";
import { requirement } from "@unigate/testkit";
import { beforeAll, describe, expect, test } from "vitest";
import { helm, type KubernetesObject, objectsOf, renderText, runHelm, runKubeconform } from "./chart.ts";
import { matrix, podsOf, SECRETS, type Variant } from "./matrix.ts";
import { plainVariables, secretData, secretVariables, specOf, type Workload, workloadsOf } from "./pods.ts";

const schemas = requirement("k8s-schemas");
/** Kinds of others than Kubernetes itself, which its schemas do not hold. */
const CUSTOM = "HTTPRoute,ServiceMonitor,PrometheusRule,Certificate";

describe.skipIf(!helm.available)("every variant of the chart", () => {
  const texts = new Map<string, string>();
  beforeAll(() => {
    for (const { name, values } of matrix) texts.set(name, renderText(values));
  });

  test.skipIf(!schemas.available)("is accepted by the schemas of Kubernetes, strictly", () => {
    const location = `${schemas.at}/{{ .ResourceKind }}{{ .KindSuffix }}.json`;
    const all = [...texts.values()].join("\n---\n");
    const { code, out, error } = runKubeconform(["-strict", "-summary", "-skip", CUSTOM, "-schema-location", location, "-"], all);
    expect(`${out}${error}`).toMatch(/Summary: \d{4} resources found .* Invalid: 0, Errors: 0, Skipped: [1-9]/);
    expect(code).toBe(0);
  });

  describe.each(matrix)("$name", (variant) => {
    let objects: KubernetesObject[];
    let workloads: Map<string, Workload>;
    let pods: Workload[];
    beforeAll(() => {
      objects = objectsOf(texts.get(variant.name) ?? "");
      workloads = workloadsOf(objects);
      pods = [...workloads.values()].filter(({ kind }) => kind !== "Job");
    });

    test("names every object once, and the namespace of each", () => {
      const names = objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
      expect(new Set(names).size).toBe(names.length);
      expect(objects.filter(({ metadata }) => metadata.namespace !== "gateways")).toEqual([]);
    });

    test("has the pods of its mode, which their selectors and Services find", () => {
      expect(pods.map(({ component }) => component).sort()).toEqual([...podsOf(variant.mode)].sort());
      const services = objects.filter(({ kind }) => kind === "Service").map((object) => specOf(object) as ServiceSpec);
      for (const { labels, selector, pod, container } of pods) {
        expect(labels).toMatchObject(selector);
        for (const { labelSelector } of pod.topologySpreadConstraints ?? []) expect(labels).toMatchObject(labelSelector.matchLabels);
        expect(services.some((service) => service.clusterIP === "None" && isPart(service.selector, labels))).toBe(true);
        expect(container.ports.find(({ name }) => name === "metrics")?.containerPort).toBe(9090);
      }
      for (const { selector, ports } of services) {
        const target = pods.find(({ labels }) => isPart(selector, labels));
        for (const { targetPort } of ports) expect(target?.container.ports.map(({ name }) => name)).toContain(targetPort);
      }
    });

    test("probes over HTTP on the metrics port", () => {
      for (const { container } of pods) {
        expect(container.startupProbe.httpGet).toEqual({ path: "/healthz", port: "metrics" });
        expect(container.livenessProbe.httpGet).toEqual({ path: "/healthz", port: "metrics" });
        expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "metrics" });
        expect(plainVariables(container)["UNIGATE_METRICS_PORT"]).toBe("9090");
      }
    });

    test("runs without rights, on a root that cannot be written", () => {
      for (const { pod, container } of workloads.values()) {
        expect(pod).toMatchObject({
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile: { type: "RuntimeDefault" } },
        });
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
        expect(container.resources).toMatchObject({
          requests: { cpu: expect.any(String) as string },
          limits: { memory: expect.any(String) as string },
        });
      }
    });

    test("gives a pod longer to end than it takes", () => {
      const sleep = variant.switches === "on" ? 5 : 0;
      for (const { pod, container } of pods) {
        expect(container.lifecycle?.preStop.sleep.seconds ?? 0).toBe(sleep);
        expect(pod.terminationGracePeriodSeconds).toBe(sleep + 25 + Number(plainVariables(container)["UNIGATE_DRAIN_SECONDS"]));
      }
    });

    test("sets only what the program reads, and what it can be started with", () => {
      for (const { component, container } of workloads.values()) {
        const names = container.env.map(({ name }) => name);
        expect(new Set(names).size).toBe(names.length);
        const unknown = names.filter((name) => !(name in settingSpecs) && !KNOWN_BESIDE.test(name));
        expect(unknown, component).toEqual([]);
        const environment = { ...plainVariables(container), ...standIns(container) };
        expect(() => buildSettings(environment, container.args[0]?.replace("--target=", "").replace("--migrate", "control"))).not.toThrow();
      }
    });

    test("mounts and names only what is there", () => {
      const made = new Map(objects.filter(({ kind }) => kind === "Secret").map((object) => [object.metadata.name, secretData(object)]));
      const issued = objects
        .filter(({ kind }) => kind === "Certificate")
        .map((object) => (specOf(object) as { secretName: string }).secretName);
      const maps = objects.filter(({ kind }) => kind === "ConfigMap").map(({ metadata }) => metadata.name);
      for (const { pod, container, claims } of workloads.values()) {
        for (const reference of Object.values(secretVariables(container))) {
          const [name = "", key = ""] = reference.split("/");
          if (!name.startsWith("given-")) expect(made.get(name)?.[key], reference).toMatch(/./);
        }
        for (const { secretRef } of container.envFrom ?? [])
          if (!secretRef.name.startsWith("given-")) expect(made.has(secretRef.name)).toBe(true);
        for (const { secret, configMap } of pod.volumes) {
          const name = secret?.secretName ?? configMap?.name ?? "given-";
          if (!name.startsWith("given-")) expect([...issued, ...maps]).toContain(name);
        }
        const volumes = [...pod.volumes.map(({ name }) => name), ...claims];
        expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(volumes.sort());
        expect(container.volumeMounts.filter(({ subPath }) => subPath !== undefined)).toEqual([]);
      }
      const accounts = objects.filter(({ kind }) => kind === "ServiceAccount").map(({ metadata }) => metadata.name);
      for (const { pod } of pods) if (pod.serviceAccountName !== "given-account") expect(accounts).toContain(pod.serviceAccountName);
    });

    test("keeps secrets in Secrets", () => {
      const elsewhere = JSON.stringify(objects.filter(({ kind }) => kind !== "Secret"));
      for (const secret of SECRETS) expect(elsewhere.includes(secret), secret).toBe(false);
      expect(elsewhere).not.toContain("0".repeat(64));
    });

    test("gives a service only the secrets that it uses", () => {
      const holders = (name: string): string[] =>
        pods.filter(({ container }) => container.env.some((one) => one.name === name)).map((pod) => pod.component);
      const all = variant.mode === "single" ? ["single"] : null;
      const guardrail = variant.mode === "compact" ? "edge" : "guardrail";
      expect(holders("UNIGATE_ADMIN_KEY")).toEqual(all ?? ["control"]);
      expect(holders("UNIGATE_MASTER_KEY").sort()).toEqual(all ?? ["connector", "control", guardrail].sort());
      if (variant.engines !== "none") {
        expect(holders("UNIGATE_DATABASE_URL").sort()).toEqual(all ?? ["control", "logging"]);
        expect(holders("UNIGATE_REDIS_URL").sort()).toEqual(all ?? (variant.mode === "compact" ? ["edge"] : ["cache", "policy", "router"]));
        expect(holders("UNIGATE_KAFKA_SASL_PASSWORD").sort()).toEqual(all ?? ["edge", "logging"]);
      }
      expect(pods.filter(({ container }) => container.envFrom !== undefined).map((pod) => pod.component)).toEqual(
        variant.engines === "none" ? [] : (all ?? ["control"]),
      );
    });

    test("secures the mesh with one thing", () => {
      for (const { container, pod } of pods) {
        const names = container.env.map(({ name }) => name);
        const hasToken = names.includes("UNIGATE_MESH_TOKEN");
        const hasCertificate = ["UNIGATE_MESH_CERT", "UNIGATE_MESH_KEY", "UNIGATE_MESH_CA"].every((name) => names.includes(name));
        expect([hasToken, hasCertificate]).toEqual([variant.auth.endsWith("token"), variant.auth.startsWith("cert")]);
        expect(pod.volumes.some(({ name }) => name === "mesh-certificates")).toBe(hasCertificate);
      }
    });
  });

  test.each(["single", "mesh", "compact"])("mode %s passes helm lint, without a warning", (mode) => {
    const { code, out } = runHelm(["lint", "--strict", "helm/unigate", "--set", `mode=${mode}`]);
    expect(out).not.toMatch(/WARNING|ERROR/);
    expect(code).toBe(0);
  });
});

interface ServiceSpec {
  readonly clusterIP?: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: readonly { readonly targetPort: string }[];
}

/** Addresses of other services, certificates, and what is not the program's own. */
const KNOWN_BESIDE =
  /^(?:UNIGATE_(?:ROUTER|CONNECTOR|CACHE|POLICY|GUARDRAIL|LOGGING|CONTROL)_ADDR|UNIGATE_MESH_(?:CERT|KEY|CA)|NODE_EXTRA_CA_CERTS|TZ)$/;

/** Something of the right form for each variable that comes from a Secret. */
function standIns(container: Workload["container"]): Record<string, string> {
  const forms: Readonly<Record<string, string>> = {
    UNIGATE_REDIS_URL: "redis://redis:6379",
    UNIGATE_DATABASE_URL: "postgres://gw@postgres/gw",
    UNIGATE_OTLP_HEADERS: "a=b",
  };
  return Object.fromEntries(Object.keys(secretVariables(container)).map((name) => [name, forms[name] ?? "0".repeat(64)]));
}

function isPart(part: Readonly<Record<string, string>>, whole: Readonly<Record<string, string>>): boolean {
  return Object.entries(part).every(([key, value]) => whole[key] === value);
}

/** Told when a new kind of variant is not covered. */
test("the matrix holds every mode, kind of engines and kind of trust", () => {
  const distinct = (read: (variant: Variant) => string): number => new Set(matrix.map(read)).size;
  expect([distinct((one) => one.mode), distinct((one) => one.engines), distinct((one) => one.auth), matrix.length]).toEqual([3, 3, 5, 54]);
});
