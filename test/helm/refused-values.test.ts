import { beforeAll, describe, expect, test } from "vitest";
import { helm, refusal, type Values } from "./chart.ts";

const REDIS = { redis: { url: "redis://redis:6379" } };
const DATABASE = { database: { url: "postgres://gw@postgres/gw" } };

/** Values that cannot be used, and what of the refusal names the value and what would be right. */
const cases: readonly (readonly [string, Values, ...string[]])[] = [
  ["a value that nobody knows", { replicaCount: 2 }, "additional properties 'replicaCount' not allowed"],
  ["a misspelt value of a service", { mode: "mesh", edge: { replica: 2 } }, "at '/edge': additional properties 'replica' not allowed"],
  ["a misspelt value of all services", { defaults: { resource: {} } }, "at '/defaults': additional properties 'resource' not allowed"],
  ["an unknown mode", { mode: "cluster" }, "at '/mode': value must be one of 'single', 'mesh', 'compact'"],
  ["a text for a number", { single: { replicas: "two" } }, "at '/single/replicas': got string, want null or integer"],
  ["less than none", { mode: "mesh", edge: { replicas: -1 } }, "at '/edge/replicas': minimum: got -1, want 0"],
  ["a size that is none", { defaults: { resources: { limits: { memory: "lots" } } } }, "at '/defaults/resources/limits/memory'"],
  ["an address that is none", { listenHost: "all" }, "at '/listenHost': 'all' does not match pattern"],
  ["a digest that is none", { image: { digest: "abc" } }, "at '/image/digest': 'abc' does not match pattern '^(?:sha256:[0-9a-f]{64})?$'"],
  ["a pull policy that is none", { image: { pullPolicy: "Sometimes" } }, "must be one of 'Always', 'IfNotPresent', 'Never'"],

  [
    "a setting that the program does not have",
    { settings: { UNIGATE_SPEED: "high" } },
    "at '/settings': additional properties 'UNIGATE_SPEED' not allowed",
  ],
  [
    "a setting that the chart sets",
    { settings: { UNIGATE_DATA_DIR: "/data" } },
    "at '/settings': additional properties 'UNIGATE_DATA_DIR' not allowed",
  ],
  ["a secret among the settings", { settings: { UNIGATE_ADMIN_KEY: "x" } }, "additional properties 'UNIGATE_ADMIN_KEY' not allowed"],
  ["a setting out of its bounds", { settings: { UNIGATE_BODY_LIMIT: 1 } }, "at '/settings/UNIGATE_BODY_LIMIT': minimum: got 1, want 1,024"],
  [
    "a setting of another form",
    { settings: { UNIGATE_LOG_LEVEL: "loud" } },
    "at '/settings/UNIGATE_LOG_LEVEL': 'loud' does not match pattern",
  ],
  [
    "a setting as a further variable",
    { defaults: { extraEnv: [{ name: "UNIGATE_LOG_LEVEL", value: "debug" }] } },
    "single.extraEnv sets UNIGATE_LOG_LEVEL: the chart sets it from its own values; put settings of the program under settings",
  ],

  [
    "values of a service that has no pods",
    { mode: "compact", router: { replicas: 2 } },
    "router has values, but mode compact has no pods of it",
    "edge",
  ],
  ["values of mode single in a mesh", { mode: "mesh", single: { workers: 2 } }, "single has values, but mode mesh has no pods of it"],
  ["workers without an HTTP port", { mode: "mesh", router: { workers: 2 } }, "at '/router': additional properties 'workers' not allowed"],
  ["more workers than there can be", { single: { workers: 65 } }, "at '/single/workers': maximum: got 65, want 64"],
  [
    "persistence of edge, which is that of its spool",
    { mode: "mesh", edge: { persistence: { enabled: true } } },
    "at '/edge': additional properties 'persistence' not allowed",
  ],

  [
    "several single processes without a database",
    { single: { replicas: 2 }, ...REDIS },
    "single.replicas is 2, but without database",
    "or single.replicas to 1",
  ],
  [
    "several single processes without Redis",
    { single: { replicas: 2 }, ...DATABASE },
    "single.replicas is 2, but without redis",
    "set redis.url",
  ],
  [
    "several policies without Redis",
    { mode: "mesh", policy: { replicas: 2 } },
    "policy.replicas is 2, but without redis the state of policy is that of one pod: set redis.url or redis.existingSecret.name, or policy.replicas to 1",
  ],
  ["several controls without a database", { mode: "mesh", control: { replicas: 3 } }, "control.replicas is 3, but without database"],
  [
    "several of everything without engines",
    { mode: "mesh", defaults: { replicas: 2 } },
    "cache.replicas",
    "policy.replicas",
    "logging.replicas",
    "control.replicas",
  ],
  [
    "several edges of the compact mesh without Redis",
    { mode: "compact", edge: { replicas: 2 } },
    "edge.replicas is 2, but without redis the state of edge (with policy in its pods)",
  ],
  [
    "autoscaling of what has one state",
    { mode: "mesh", logging: { autoscaling: { enabled: true } } },
    "logging.autoscaling.enabled is true, but without database",
  ],
  [
    "fewer at most than at least",
    { mode: "mesh", edge: { autoscaling: { enabled: true, minReplicas: 5, maxReplicas: 3 } } },
    "edge.autoscaling.minReplicas is 5, more than maxReplicas, 3: expected at most as many",
  ],
  [
    "autoscaling by a request that is not there",
    { mode: "mesh", edge: { autoscaling: { enabled: true } }, defaults: { resources: { requests: { cpu: null } } } },
    "edge.autoscaling needs edge.resources.requests.cpu",
  ],

  [
    "trust by nothing",
    { mode: "mesh", mesh: { auth: "none" } },
    "at '/mesh/auth': value must be one of 'token', 'cert-manager', 'certificates'",
  ],
  [
    "a mesh in one process",
    { mesh: { auth: "cert-manager", certManager: { issuerRef: { name: "x" } } } },
    "mesh has values, but mode single has no mesh",
  ],
  [
    "cert-manager without an issuer",
    { mode: "mesh", mesh: { auth: "cert-manager" } },
    "mesh.auth is cert-manager without mesh.certManager.issuerRef.name: set the issuer",
  ],
  [
    "an issuer that nothing uses",
    { mode: "mesh", mesh: { certManager: { issuerRef: { name: "x" } } } },
    "mesh.certManager.issuerRef.name is set, but mesh.auth is token",
  ],
  [
    "a service without a certificate",
    { mode: "compact", mesh: { auth: "certificates", certificates: { secrets: { edge: "a", connector: "b", control: "c" } } } },
    "mesh.certificates.secrets.logging is missing: set the Secret with tls.crt, tls.key and ca.crt of these pods",
  ],
  [
    "a certificate that nothing uses",
    {
      mode: "compact",
      mesh: { auth: "certificates", certificates: { secrets: { edge: "a", connector: "b", control: "c", logging: "d", policy: "e" } } },
    },
    "mesh.certificates.secrets.policy is set, but nothing uses it with mode compact",
  ],
  [
    "a certificate for a service that is none",
    { mesh: { certificates: { secrets: { egde: "a" } } } },
    "additional properties 'egde' not allowed",
  ],
  [
    "a token beside certificates",
    { mode: "mesh", mesh: { auth: "cert-manager", token: { value: "0123456789abcdef" }, certManager: { issuerRef: { name: "x" } } } },
    "mesh.token is set, but mesh.auth is cert-manager",
  ],
  [
    "a token that is short",
    { mode: "mesh", mesh: { token: { value: "secret" } } },
    "mesh.token.value does not have the right form: expected 16 characters or more",
  ],

  [
    "an address of Redis that is none",
    { redis: { url: "redis:6379" } },
    "redis.url does not have the right form: expected redis://user:password@host:6379/0, or rediss:// for TLS",
  ],
  [
    "a database of another kind",
    { database: { url: "mysql://gw:hush@db/gw" } },
    "database.url does not have the right form: expected postgres://user:password@host:5432/database",
  ],
  ["an embedded database", { database: { url: "pglite:" } }, "database.url does not have the right form"],
  [
    "an address twice",
    { redis: { url: "redis://redis", existingSecret: { name: "given" } } },
    "redis.url and redis.existingSecret.name are both set: expected one of them",
  ],
  ["a broker without a port", { kafka: { brokers: ["kafka"] } }, "at '/kafka/brokers/0': 'kafka' does not match pattern"],
  [
    "a Kafka user without a password",
    { kafka: { brokers: ["kafka:9092"], sasl: { username: "gw" } } },
    "kafka.sasl.username is set without a password: set kafka.sasl.password or kafka.sasl.existingSecret.name",
  ],
  [
    "a Kafka password without a user",
    { kafka: { brokers: ["kafka:9092"], sasl: { password: "x" } } },
    "kafka.sasl has a password, but no kafka.sasl.username",
  ],
  [
    "a Kafka user without brokers",
    { kafka: { sasl: { username: "gw", password: "x" } } },
    "kafka.sasl.username is set without kafka.brokers",
  ],
  ["headers without a collector", { otlp: { headers: "a=b" } }, "otlp has headers, but no otlp.endpoint"],
  [
    "a short admin key",
    { adminKey: { value: "hush" } },
    "adminKey.value does not have the right form: expected 16 characters or more, without spaces",
  ],
  [
    "a master key of another length",
    { masterKey: { value: "hush" } },
    "masterKey.value does not have the right form: expected 32 bytes as base64 (44 characters) or hex (64 characters)",
  ],
  [
    "a key of a provider that is a setting",
    { providerKeys: { values: { UNIGATE_ADMIN_KEY: "x" } } },
    "providerKeys.values.UNIGATE_ADMIN_KEY cannot be a variable",
  ],

  [
    "declared resources twice",
    { config: { version: 1 }, existingConfigMap: { name: "given" } },
    "config and existingConfigMap.name are both set",
  ],
  [
    "secrets in what becomes a ConfigMap",
    {
      config: {
        version: 1,
        providers: [
          { slug: "a", provider: "openai", api_key: "hush" },
          { slug: "b", provider: "bedrock", aws_secret_access_key: "hush" },
        ],
        keys: [{ name: "k", key: "hush" }],
        configs: [{ id: "c", config: { targets: [{ provider: "openai", api_key: "hush" }] } }],
      },
    },
    "config.providers[0].api_key is a secret as plain text",
    "config.providers[1].aws_secret_access_key is",
    "config.keys[0].key is",
    "config.configs[0].config.targets[0].api_key is",
    "write ${NAME}, and put NAME into providerKeys.values",
  ],

  [
    "an Ingress without a host",
    { ingress: { enabled: true } },
    "ingress.enabled is true without ingress.hosts: set at least one host name",
  ],
  [
    "a route without a gateway",
    { httpRoute: { enabled: true } },
    "httpRoute.enabled is true without httpRoute.parentRefs: set the gateway it hangs on",
  ],
  [
    "an account beside those that are made",
    { serviceAccount: { name: "given" } },
    "serviceAccount.name is set, but serviceAccount.create makes one for each kind of pod",
  ],
  ["nobody who may read metrics", { networkPolicy: { metricsClients: [] } }, "at '/networkPolicy/metricsClients': minItems: got 0, want 1"],
  [
    "a peer that is none",
    { networkPolicy: { clients: [{ labels: {} }] } },
    "at '/networkPolicy/clients/0': additional properties 'labels' not allowed",
  ],
];

describe.skipIf(!helm.available)("the chart refuses", () => {
  test.each(cases.map(([what, values, ...expected]) => ({ what, values, expected })))("$what", ({ values, expected }) => {
    const said = refusal(values);
    for (const text of expected) expect(said).toContain(text);
    // A secret that is wrong is not repeated.
    expect(said).not.toMatch(/hush/);
  });

  describe("several problems", () => {
    let said = "";
    beforeAll(() => {
      said = refusal({ mode: "mesh", single: { workers: 2 }, policy: { replicas: 2 }, ingress: { enabled: true } });
    });
    test("are told at once, a line each", () => {
      expect(said.match(/^- /gm)).toHaveLength(3);
    });
  });
});
