import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { chart, FULL_NAME, helm, type KubernetesObject, objectsOf, render, runHelm, type Values } from "./chart.ts";
import { podsOf } from "./matrix.ts";
import { only, plainVariables, secretData, secretVariables, specOf, type Workload, workloadsOf } from "./pods.ts";

const ENGINES = { redis: { url: "redis://redis" }, database: { url: "postgres://gw:hush@postgres/gw" } };

function workload(values: Values, component: string): Workload {
  const found = workloadsOf(render(values)).get(component);
  if (found === undefined) throw new Error(`there are no pods of ${component}`);
  return found;
}

function ofKind(objects: readonly KubernetesObject[], kind: string): KubernetesObject[] {
  return objects.filter((object) => object.kind === kind);
}

describe.skipIf(!helm.available)("how many pods there are, and of which kind", () => {
  const counts = (values: Values): Record<string, string> =>
    Object.fromEntries([...workloadsOf(render(values))].map(([name, { kind, replicas }]) => [name, `${replicas} ${kind}`]));

  test("state in memory or on a disk means one pod, and a volume for what has to last", () => {
    expect(counts({ mode: "mesh" })).toEqual({
      edge: "2 Deployment",
      router: "1 Deployment",
      connector: "2 Deployment",
      guardrail: "2 Deployment",
      cache: "1 Deployment",
      policy: "1 Deployment",
      control: "1 StatefulSet",
      logging: "1 StatefulSet",
    });
    expect(counts({})).toEqual({ single: "1 StatefulSet" });
    expect(counts({ mode: "compact" })).toMatchObject({ edge: "1 Deployment", connector: "2 Deployment" });
  });

  test("with engines every kind of pod has two", () => {
    const { migration, ...pods } = counts({ mode: "mesh", ...ENGINES });
    expect(migration).toBe("undefined Job");
    expect(new Set(Object.values(pods))).toEqual(new Set(["2 Deployment"]));
    expect(counts({ ...ENGINES, single: { replicas: 3 } })).toMatchObject({ single: "3 StatefulSet" });
  });

  test("what all have gives way to what one has, false and zero as well", () => {
    const values = {
      mode: "mesh",
      defaults: { replicas: 1, drainSeconds: 60 },
      edge: { replicas: 0, drainSeconds: 0, podDisruptionBudget: { enabled: false } },
    };
    const objects = render(values);
    const pods = workloadsOf(objects);
    expect([pods.get("edge")?.replicas, pods.get("router")?.replicas]).toEqual([0, 1]);
    expect(pods.get("edge")?.pod.terminationGracePeriodSeconds).toBe(30);
    expect(pods.get("router")?.pod.terminationGracePeriodSeconds).toBe(90);
    expect(ofKind(objects, "PodDisruptionBudget").map(({ metadata }) => metadata.name)).not.toContain(`${FULL_NAME}-edge`);
    expect(ofKind(objects, "PodDisruptionBudget")).toHaveLength(7);
  });

  test("services behind the edge outlive it", () => {
    const grace = (name: string): number => workload({ mode: "mesh" }, name).pod.terminationGracePeriodSeconds;
    expect([grace("edge"), grace("connector"), grace("guardrail")]).toEqual([150, 180, 180]);
  });

  test("the spool of edge on a volume makes it a StatefulSet with the data folder on it", () => {
    const { kind, claims, container } = workload(
      { mode: "mesh", edge: { spool: { persistence: { enabled: true, size: "20Gi" } } } },
      "edge",
    );
    expect([kind, claims]).toEqual(["StatefulSet", ["data"]]);
    const folder = plainVariables(container)["UNIGATE_DATA_DIR"];
    expect(container.volumeMounts).toContainEqual({ name: "data", mountPath: folder });
    expect(workload({ mode: "mesh" }, "edge").pod.volumes).toContainEqual({ name: "data", emptyDir: {} });
  });

  test("an autoscaler takes the place of a count, and finds what it scales", () => {
    const autoscaling = { enabled: true, minReplicas: 3, maxReplicas: 30, cpuPercent: 60 };
    const objects = render({ mode: "compact", ...ENGINES, edge: { autoscaling, spool: { persistence: { enabled: true } } } });
    expect(ofKind(objects, "HorizontalPodAutoscaler")).toHaveLength(1);
    const scaler = only(objects, "HorizontalPodAutoscaler", `${FULL_NAME}-edge`);
    expect(scaler["spec"]).toMatchObject({
      scaleTargetRef: { apiVersion: "apps/v1", kind: "StatefulSet", name: `${FULL_NAME}-edge` },
      minReplicas: 3,
      maxReplicas: 30,
      metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } }],
    });
    expect(workloadsOf(objects).get("edge")?.replicas).toBeUndefined();
  });

  test("a new pod is ready before an old one goes", () => {
    const deployment = only(render({ mode: "mesh" }), "Deployment", `${FULL_NAME}-edge`);
    expect(specOf(deployment) as object).toMatchObject({ strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } });
  });
});

describe.skipIf(!helm.available)("the front", () => {
  test.each([
    ["single", "single"],
    ["mesh", "edge"],
    ["compact", "edge"],
  ])("of mode %s is a Service of %s", (mode, component) => {
    const service = specOf(only(render({ mode }), "Service", FULL_NAME)) as { selector: object; ports: object[] };
    expect(service.selector).toMatchObject({ "app.kubernetes.io/component": component });
    expect(service.ports).toEqual([{ name: "http", port: 80, targetPort: "http", appProtocol: "http" }]);
  });

  test("an Ingress sends every host to it, and an HTTPRoute as long as a request may take", () => {
    const objects = render({
      settings: { UNIGATE_MAX_REQUEST_SECONDS: 1800 },
      ingress: { enabled: true, hosts: ["a.example.com", "b.example.com"], tlsSecret: "tls" },
      httpRoute: { enabled: true, parentRefs: [{ name: "public" }] },
    });
    expect(only(objects, "Ingress", FULL_NAME)["spec"]).toMatchObject({
      tls: [{ hosts: ["a.example.com", "b.example.com"], secretName: "tls" }],
      rules: ["a.example.com", "b.example.com"].map((host) => ({
        host,
        http: { paths: [{ path: "/", backend: { service: { name: FULL_NAME } } }] },
      })),
    });
    expect(only(objects, "HTTPRoute", FULL_NAME)["spec"]).toEqual({
      parentRefs: [{ name: "public" }],
      rules: [
        {
          matches: [{ path: { type: "PathPrefix", value: "/" } }],
          timeouts: { request: "1800s" },
          backendRefs: [{ name: FULL_NAME, port: 80 }],
        },
      ],
    });
  });
});

describe.skipIf(!helm.available)("names", () => {
  test("are short enough for the longest release, with what Kubernetes adds to them", () => {
    const release = `r${"0".repeat(52)}`;
    const { out } = runHelm(["template", release, chart, "--set", "mode=mesh,edge.spool.persistence.enabled=true"]);
    const objects = objectsOf(out);
    expect(objects.length).toBeGreaterThan(40);
    for (const { kind, metadata } of objects)
      expect(metadata.name.length, metadata.name).toBeLessThanOrEqual(kind === "StatefulSet" ? 52 : 63);
  });

  test("are the release's own, or those of the values", () => {
    const names = (words: readonly string[]): string[] =>
      objectsOf(runHelm(["template", ...words]).out).map(({ metadata }) => metadata.name);
    expect(names(["unigate", chart])).toContain("unigate-single");
    expect(names(["prod", chart])).toContain("prod-unigate-single");
    expect(names(["prod", chart, "--set", "fullnameOverride=gateway"])).toContain("gateway-single");
  });

  test("of images: the version of the chart, a tag, or a digest", () => {
    const image = (given: object): string => workload({ image: given }, "single").container.image;
    const digest = `sha256:${"a".repeat(64)}`;
    expect(image({})).toBe("unigate:0.1.0");
    expect(image({ repository: "images.example.com/unigate", tag: "next" })).toBe("images.example.com/unigate:next");
    expect(image({ tag: "next", digest })).toBe(`unigate@${digest}`);
  });
});

describe.skipIf(!helm.available)("monitoring", () => {
  const monitoring = {
    serviceMonitor: { enabled: true, interval: "15s", labels: { release: "prometheus" } },
    rules: { enabled: true, labels: { release: "prometheus" } },
    dashboard: { enabled: true },
  };

  test("is off, and then nothing of it is there", () => {
    const kinds = new Set(render({ mode: "mesh" }).map(({ kind }) => kind));
    expect([...kinds].filter((kind) => ["ServiceMonitor", "PrometheusRule", "ConfigMap"].includes(kind))).toEqual([]);
  });

  test("reads every kind of pod once", () => {
    const objects = render({ mode: "mesh", monitoring });
    const monitor = only(objects, "ServiceMonitor", FULL_NAME);
    expect(monitor.metadata.labels).toMatchObject({ release: "prometheus" });
    const { selector, endpoints } = specOf(monitor) as { selector: { matchLabels: Record<string, string> }; endpoints: { port: string }[] };
    expect(endpoints).toMatchObject([{ port: "metrics", path: "/metrics", interval: "15s" }]);
    const read = ofKind(objects, "Service").filter(
      (service) =>
        Object.entries(selector.matchLabels).every(([label, value]) => service.metadata.labels?.[label] === value) &&
        (specOf(service) as { ports: { name: string }[] }).ports.some(({ name }) => name === endpoints[0]?.port),
    );
    expect(read.map(({ metadata }) => metadata.labels?.["app.kubernetes.io/component"] ?? "").sort()).toEqual([...podsOf("mesh")].sort());
  });

  test("holds the rules and the dashboard as they are in the chart", () => {
    const objects = render({ monitoring });
    const file = (name: string): string => readFileSync(join(chart, "files", name), "utf8");
    expect(specOf(only(objects, "PrometheusRule", FULL_NAME))).toEqual(parse(file("rules.yaml")));
    const { data, metadata } = only(objects, "ConfigMap", `${FULL_NAME}-dashboard`) as KubernetesObject & { data: Record<string, string> };
    expect(metadata.labels).toMatchObject({ grafana_dashboard: "1" });
    expect(JSON.parse(data["unigate.json"] ?? "")).toEqual(JSON.parse(file("dashboard.json")));
  });
});

describe.skipIf(!helm.available)("the migration", () => {
  const hook = { "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded" };

  test("runs before everything else, with nothing that is not there yet", () => {
    const objects = render({ mode: "mesh", ...ENGINES });
    const job = only(objects, "Job", `${FULL_NAME}-migration`);
    const { container, pod } = workloadsOf(objects).get("migration") as Workload;
    expect(job.metadata.annotations).toMatchObject({ ...hook, "helm.sh/hook-weight": "0" });
    expect(container.args).toEqual(["--migrate"]);
    expect(pod.serviceAccountName).toBeUndefined();
    expect(secretVariables(container)).toEqual({ UNIGATE_DATABASE_URL: `${FULL_NAME}-migration/database-url` });
    const secret = only(objects, "Secret", `${FULL_NAME}-migration`);
    expect(secret.metadata.annotations).toMatchObject({ ...hook, "helm.sh/hook-weight": "-10" });
    expect(secretData(secret)).toEqual({ "database-url": ENGINES.database.url });
    expect(only(objects, "NetworkPolicy", `${FULL_NAME}-migration`).metadata.annotations).toMatchObject(hook);
  });

  test("takes a Secret that is given", () => {
    const objects = render({ database: { existingSecret: { name: "given", key: "url" } } });
    expect(secretVariables((workloadsOf(objects).get("migration") as Workload).container)).toEqual({ UNIGATE_DATABASE_URL: "given/url" });
    expect(ofKind(objects, "Secret").map(({ metadata }) => metadata.name)).toEqual([`${FULL_NAME}-keys`]);
  });

  test.each<[string, Values]>([
    ["without a database", {}],
    ["that is switched off", { ...ENGINES, migration: { enabled: false } }],
  ])("is not there %s", (_, values) => {
    expect(JSON.stringify(render(values))).not.toContain("migration");
  });
});

describe.skipIf(!helm.available)("what is declared", () => {
  const config = { version: 1, policies: { rate_limits: [{ name: "all", limit: 20_000_000 }] } };

  test("is a ConfigMap that control alone mounts, as a folder", () => {
    const objects = render({ mode: "mesh", config });
    const map = only(objects, "ConfigMap", `${FULL_NAME}-declared`);
    expect(Object.keys(map["data"] as object)).toEqual(["unigate.yaml"]);
    const holders = [...workloadsOf(objects).values()].filter(({ container }) => plainVariables(container)["UNIGATE_CONFIG"] !== undefined);
    expect(holders.map(({ component }) => component)).toEqual(["control"]);
    expect(plainVariables(holders[0]?.container as Workload["container"])["UNIGATE_CONFIG"]).toBe("/etc/unigate/unigate.yaml");
    expect(holders[0]?.container.volumeMounts).toContainEqual({ name: "declared", mountPath: "/etc/unigate", readOnly: true });
  });

  test("does not restart a pod when it changes, and a secret does", () => {
    const mark = (values: Values): unknown => {
      const [stateful] = ofKind(render(values), "StatefulSet");
      return (specOf(stateful as KubernetesObject) as { template: { metadata: { annotations: object } } }).template.metadata.annotations;
    };
    expect(mark({ config })).toEqual(mark({ config: { version: 1 } }));
    expect(mark({ redis: { url: "redis://a" } })).not.toEqual(mark({ redis: { url: "redis://b" } }));
  });
});

describe.skipIf(!helm.available)("certificates of the mesh", () => {
  const mesh = { auth: "cert-manager", certManager: { issuerRef: { name: "mesh-authority" } } };

  test("name every service of the pod, and where it is reached", () => {
    const objects = render({ mode: "compact", mesh });
    const spec = (name: string): object => specOf(only(objects, "Certificate", `${FULL_NAME}-${name}`)) as object;
    expect(spec("edge")).toMatchObject({
      secretName: `${FULL_NAME}-edge-mesh`,
      uris: ["edge", "router", "cache", "policy", "guardrail"].map((service) => `spiffe://unigate/${service}`),
      usages: ["digital signature", "server auth", "client auth"],
      issuerRef: { name: "mesh-authority", kind: "Issuer", group: "cert-manager.io" },
    });
    expect(spec("control")).toMatchObject({
      uris: ["spiffe://unigate/control"],
      dnsNames: [`${FULL_NAME}-control`, `${FULL_NAME}-control.gateways.svc`],
    });
    expect(ofKind(objects, "Certificate")).toHaveLength(4);
  });

  test("are mounted as a folder where the variables say", () => {
    const { container, pod } = workload({ mode: "mesh", mesh }, "router");
    const variables = plainVariables(container);
    expect(["CERT", "KEY", "CA"].map((name) => variables[`UNIGATE_MESH_${name}`])).toEqual(
      ["tls.crt", "tls.key", "ca.crt"].map((file) => `/etc/unigate-mesh/${file}`),
    );
    expect(container.volumeMounts).toContainEqual({ name: "mesh-certificates", mountPath: "/etc/unigate-mesh", readOnly: true });
    expect(pod.volumes).toContainEqual({
      name: "mesh-certificates",
      secret: { secretName: `${FULL_NAME}-router-mesh`, defaultMode: 0o440 },
    });
  });
});
