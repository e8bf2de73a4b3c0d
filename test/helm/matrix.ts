import type { Values } from "./chart.ts";

/** One way to install the chart. */
export interface Variant {
  readonly name: string;
  readonly mode: "single" | "mesh" | "compact";
  readonly engines: "none" | "inline" | "existing";
  readonly auth: "none" | "token" | "existing token" | "cert-manager" | "certificates";
  readonly switches: "off" | "on";
  readonly values: Values;
}

const PODS = { single: ["single"], compact: ["edge", "connector", "logging", "control"] } as const;
const MESH = ["edge", "router", "connector", "cache", "policy", "guardrail", "logging", "control"] as const;

/** Everything that is secret in the values of the matrix, to be looked for where it must not be. */
export const SECRETS = [
  "hush-redis",
  "hush-database",
  "hush-kafka",
  "hush-otlp",
  "hush-admin-key-0123456789",
  "hush-mesh-token-0123456789",
  "hush-provider",
] as const;

const inline = {
  redis: { url: "redis://gw:hush-redis@redis:6380/0" },
  database: { url: "postgres://gw:hush-database@postgres:5433/gw" },
  kafka: { brokers: ["kafka-0:9094", "kafka-1:9095"], sasl: { username: "gw", password: "hush-kafka" } },
  otlp: { endpoint: "http://collector:4319", headers: "x-key=hush-otlp" },
  adminKey: { value: "hush-admin-key-0123456789" },
  masterKey: { value: "0".repeat(64) },
  providerKeys: { values: { OPENAI_API_KEY: "hush-provider" } },
};

const existing = {
  redis: { existingSecret: { name: "given-redis" }, cluster: true },
  database: { existingSecret: { name: "given-database", key: "url" } },
  kafka: {
    brokers: ["kafka:9092"],
    tls: true,
    sasl: { mechanism: "scram-sha-512", username: "gw", existingSecret: { name: "given-kafka" } },
  },
  otlp: { endpoint: "https://collector/otlp", existingSecret: { name: "given-otlp" } },
  adminKey: { existingSecret: { name: "given-keys" } },
  masterKey: { existingSecret: { name: "given-keys", key: "master" } },
  providerKeys: { existingSecret: "given-provider-keys" },
};

/** Every mode with every kind of engines, of trust between services, and with all switches on or off. */
export const matrix: readonly Variant[] = (["single", "mesh", "compact"] as const).flatMap((mode) =>
  (["none", "inline", "existing"] as const).flatMap((engines) =>
    (mode === "single" ? (["none"] as const) : (["token", "existing token", "cert-manager", "certificates"] as const)).flatMap((auth) =>
      (["off", "on"] as const).map((switches) => ({
        name: `${mode}, engines ${engines}, trust ${auth}, switches ${switches}`,
        mode,
        engines,
        auth,
        switches,
        values: {
          mode,
          ...(engines === "none" ? {} : engines === "inline" ? inline : existing),
          ...(auth === "none" ? {} : { mesh: trust(mode, auth) }),
          ...(switches === "on" ? switchedOn(mode, engines !== "none") : switchedOff(mode)),
        },
      })),
    ),
  ),
);

/** The kinds of pods of a mode. */
export function podsOf(mode: Variant["mode"]): readonly string[] {
  return mode === "mesh" ? MESH : PODS[mode];
}

function trust(mode: Variant["mode"], auth: Exclude<Variant["auth"], "none">): Values {
  switch (auth) {
    case "token":
      return { token: { value: "hush-mesh-token-0123456789" } };
    case "existing token":
      return { token: { existingSecret: { name: "given-token" } } };
    case "cert-manager":
      return { auth, certManager: { issuerRef: { name: "mesh-authority", kind: "ClusterIssuer" } } };
    case "certificates":
      return { auth, certificates: { secrets: Object.fromEntries(podsOf(mode).map((name) => [name, `given-${name}-tls`])) } };
  }
}

function switchedOn(mode: Variant["mode"], isShared: boolean): Values {
  const autoscaling = { enabled: true, maxReplicas: 20 };
  return {
    labels: { team: "platform" },
    image: { repository: "images.example.com/unigate", tag: "1.2.3", pullSecrets: ["pull"] },
    settings: { UNIGATE_BODY_LIMIT: 20_971_520, UNIGATE_TRACE_SAMPLE: 0.25, UNIGATE_LOG_LEVEL: "debug", UNIGATE_MAX_REQUEST_SECONDS: 600 },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of the declared resources
    config: { version: 1, providers: [{ slug: "main", provider: "openai", api_key: "${OPENAI_API_KEY}" }] },
    extraCertificates: { configMap: "given-authorities" },
    service: { type: "LoadBalancer", annotations: { a: "b" } },
    ingress: { enabled: true, className: "nginx", hosts: ["ai.example.com"], tlsSecret: "given-ingress-tls" },
    httpRoute: { enabled: true, parentRefs: [{ name: "public", namespace: "gateways" }], hostnames: ["ai.example.com"] },
    monitoring: { serviceMonitor: { enabled: true }, rules: { enabled: true, labels: { a: "b" } }, dashboard: { enabled: true } },
    networkPolicy: {
      clients: [{ namespaceSelector: { matchLabels: { name: "apps" } } }],
      engines: { redis: { to: [{ ipBlock: { cidr: "10.1.0.0/16" } }] } },
      internetExtra: [{ podSelector: { matchLabels: { app: "vllm" } } }],
    },
    defaults: { nodeSelector: { pool: "gateways" }, priorityClassName: "high", extraEnv: [{ name: "TZ", value: "UTC" }] },
    ...(mode === "single"
      ? { single: { workers: 4, ...(isShared ? { replicas: 3 } : {}) } }
      : {
          edge: {
            spool: { persistence: { enabled: true, storageClass: "fast" } },
            workers: "auto",
            ...(isShared || mode === "mesh" ? { autoscaling } : {}),
          },
          connector: { autoscaling, serviceAccountAnnotations: { role: "connector" } },
        }),
  };
}

function switchedOff(mode: Variant["mode"]): Values {
  return {
    preStopSeconds: 0,
    networkPolicy: { enabled: false },
    serviceAccount: { create: false, name: "given-account" },
    migration: { enabled: false },
    defaults: { podDisruptionBudget: { enabled: false }, topologySpread: [] },
    ...(mode === "single" ? { single: { persistence: { enabled: false } } } : {}),
  };
}
