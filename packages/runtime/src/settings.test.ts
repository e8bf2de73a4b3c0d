import { describe, expect, test } from "vitest";
import { SettingError, settingSpecs } from "./setting-specs.ts";
import { buildSettings } from "./settings.ts";

const MIB = 1024 * 1024;

test("with nothing set everything has its default", () => {
  expect(buildSettings({}, undefined)).toEqual({
    host: "127.0.0.1",
    port: 8080,
    dataDir: ".unigate",
    configFile: null,
    adminKey: null,
    masterKey: null,
    targets: ["all"],
    workers: 1,
    grpcListen: ":50051",
    metricsPort: null,
    meshToken: null,
    meshCertificates: null,
    database: null,
    redisUrl: null,
    redisCluster: false,
    kafka: null,
    addresses: {},
    egressAllow: null,
    bodyLimit: 20 * MIB,
    uploadLimit: 512 * MIB,
    inflightBytes: 256 * MIB,
    maxInflight: 10_000,
    maxRequestSeconds: 900,
    drainSeconds: 120,
    identityMaxStaleSeconds: 3_600,
    heartbeatMs: 15_000,
    limitTimeoutMs: 1_500,
    managementPerMinute: 1_000,
    corsOrigins: [],
    traceSample: 1,
    otlp: null,
    logLevel: "info",
    environment: {},
  });
});

test("an empty or absent variable is not set", () => {
  const settings = buildSettings({ PORT: "", HOST: undefined, UNIGATE_CONFIG: "", UNIGATE_ADMIN_KEY: "" }, undefined);
  expect(settings).toMatchObject({ port: 8080, host: "127.0.0.1", configFile: null, adminKey: null, environment: {} });
});

test("every default is itself a good value", () => {
  const defaults = Object.fromEntries(
    Object.entries(settingSpecs).flatMap(([name, spec]) => (spec.default === null ? [] : [[name, spec.default]])),
  );
  expect({ ...buildSettings(defaults, undefined), environment: {} }).toEqual(buildSettings({}, undefined));
});

test.each<[Record<string, string>, object]>([
  [
    { HOST: "0.0.0.0", PORT: "0" },
    { host: "0.0.0.0", port: 0 },
  ],
  [
    { HOST: "::1", PORT: "65535" },
    { host: "::1", port: 65_535 },
  ],
  [{ UNIGATE_TARGET: " edge, router ,,connector " }, { targets: ["edge", "router", "connector"] }],
  [{ UNIGATE_METRICS_PORT: "0" }, { metricsPort: 0 }],
  [{ UNIGATE_GRPC_LISTEN: "127.0.0.1:0" }, { grpcListen: "127.0.0.1:0" }],
  [{ UNIGATE_GRPC_LISTEN: "[::1]:50051" }, { grpcListen: "[::1]:50051" }],
  [{ UNIGATE_GRPC_LISTEN: "unix:/run/unigate.sock" }, { grpcListen: "unix:/run/unigate.sock" }],
  [
    { UNIGATE_CORS_ORIGINS: "https://a.example.com, http://localhost:3000" },
    { corsOrigins: ["https://a.example.com", "http://localhost:3000"] },
  ],
  [{ UNIGATE_CORS_ORIGINS: "*" }, { corsOrigins: ["*"] }],
  [{ UNIGATE_LOG_LEVEL: "silent" }, { logLevel: "silent" }],
  [
    { UNIGATE_IDENTITY_MAX_STALE: "0", UNIGATE_DRAIN_SECONDS: "0" },
    { identityMaxStaleSeconds: 0, drainSeconds: 0 },
  ],
  [
    { UNIGATE_DATA_DIR: "/tmp/x", UNIGATE_CONFIG: "a.yaml", UNIGATE_EGRESS_ALLOW: "10.0.0.0/8" },
    { dataDir: "/tmp/x", configFile: "a.yaml", egressAllow: "10.0.0.0/8" },
  ],
  [
    { UNIGATE_ROUTER_ADDR: "dns:///unigate-router:50051", UNIGATE_CONTROL_ADDR: "unix:/run/control.sock" },
    { addresses: { router: "dns:///unigate-router:50051", control: "unix:/run/control.sock" } },
  ],
])("%j", (environment, settings) => {
  expect(buildSettings(environment, undefined)).toMatchObject(settings);
});

test("the command line's targets win", () => {
  expect(buildSettings({ UNIGATE_TARGET: "edge" }, "router,cache").targets).toEqual(["router", "cache"]);
});

describe("a bad value is refused, naming the variable, the value and what was expected", () => {
  const port = "expected a whole number from 0 to 65535";
  test.each([
    ["PORT", "http", port],
    ["PORT", "8080x", port],
    ["PORT", "-1", port],
    ["PORT", "65536", port],
    ["PORT", "80.5", port],
    ["PORT", "1e3", port],
    ["PORT", "0x50", port],
    ["PORT", " 80", port],
    ["PORT", "NaN", port],
    ["UNIGATE_METRICS_PORT", "metrics", port],
    ["HOST", "http://127.0.0.1", "expected an address or host name"],
    ["UNIGATE_TARGET", " , ", "expected all, or services such as edge,connector"],
    ["UNIGATE_GRPC_LISTEN", "50051", "expected host:port, :port or unix:/path"],
    ["UNIGATE_ROUTER_ADDR", "router", "expected a gRPC target such as dns:///"],
    ["UNIGATE_CONTROL_ADDR", "dns:///a b:1", "expected a gRPC target"],
    ["UNIGATE_BODY_LIMIT", "20MB", "expected a whole number from 1024 to"],
    ["UNIGATE_BODY_LIMIT", "1023", "expected a whole number from 1024 to"],
    ["UNIGATE_UPLOAD_LIMIT", "1", "expected a whole number from 1024 to"],
    ["UNIGATE_INFLIGHT_BYTES", "0", "expected a whole number from 1024 to"],
    ["UNIGATE_MAX_INFLIGHT", "0", "expected a whole number from 1 to"],
    ["UNIGATE_MAX_REQUEST_SECONDS", "0", "expected a whole number from 1 to 2147483"],
    ["UNIGATE_MAX_REQUEST_SECONDS", "2147484", "expected a whole number from 1 to 2147483"],
    ["UNIGATE_DRAIN_SECONDS", "soon", "expected a whole number from 0 to 2147483"],
    ["UNIGATE_IDENTITY_MAX_STALE", "never", "expected a whole number from 0 to"],
    ["UNIGATE_HEARTBEAT_MS", "9", "expected a whole number from 10 to 2147483647"],
    ["UNIGATE_HEARTBEAT_MS", "2147483648", "expected a whole number from 10 to 2147483647"],
    ["UNIGATE_CORS_ORIGINS", "app.example.com", "expected * or origins such as https://app.example.com"],
    ["UNIGATE_CORS_ORIGINS", "https://a.example.com/,*", "expected * or origins"],
    ["UNIGATE_REDIS_CLUSTER", "yes", "expected true or false"],
    ["UNIGATE_LOG_LEVEL", "loud", "expected one of fatal, error, warn"],
  ])("%s=%s", (name, value, expected) => {
    let message = "";
    try {
      buildSettings({ [name]: value }, undefined);
    } catch (error) {
      expect(error).toBeInstanceOf(SettingError);
      message = (error as SettingError).message;
    }
    expect(message).toContain(`${name} is "${value}"; `);
    expect(message).toContain(expected);
  });

  test("every number has both bounds in its message", () => {
    const numbers = Object.entries(settingSpecs).filter(([, spec]) => spec.form === undefined && /^\d+$/.test(spec.default ?? ""));
    expect(numbers.length).toBeGreaterThan(8);
    for (const [name] of numbers) {
      expect(() => buildSettings({ [name]: "x" }, undefined)).toThrow(
        new RegExp(`^${name} is "x"; expected a whole number from \\d+ to \\d+$`),
      );
    }
  });

  test("an empty --target is told by its own name", () => {
    expect(() => buildSettings({}, "")).toThrow('--target is ""; expected all, or services such as edge,connector');
  });
});

describe("the collector of spans", () => {
  test("its headers are secrets by lower-case name, percent-decoded", () => {
    const { otlp } = buildSettings(
      { UNIGATE_OTLP_ENDPOINT: "http://collector:4318/", UNIGATE_OTLP_HEADERS: "Authorization=Bearer%20hush, x-team=a=b" },
      undefined,
    );
    expect(otlp?.endpoint).toBe("http://collector:4318");
    const shown = Object.entries(otlp?.headers ?? {}).map(([name, secret]) => [name, secret.reveal()]);
    expect(shown).toEqual([
      ["authorization", "Bearer hush"],
      ["x-team", "a=b"],
    ]);
    expect(JSON.stringify(otlp)).not.toContain("hush");
  });

  test.each([
    { UNIGATE_OTLP_ENDPOINT: "collector:4318" },
    { UNIGATE_OTLP_ENDPOINT: "http://user:hush@collector" },
    { UNIGATE_OTLP_HEADERS: "hush" },
    { UNIGATE_OTLP_HEADERS: "a=hush%0d%0ab: c" },
    { UNIGATE_OTLP_HEADERS: "a=hush%zz" },
    { UNIGATE_OTLP_HEADERS: "a=hush%0a" },
    { UNIGATE_TRACE_SAMPLE: "1.5" },
    { UNIGATE_TRACE_SAMPLE: "-0.1" },
    { UNIGATE_TRACE_SAMPLE: "half" },
  ])("refuses %j", (environment) => {
    const [name = ""] = Object.keys(environment);
    expect(() => buildSettings(environment, undefined)).toThrow(name);
    expect(() => buildSettings(environment, undefined)).not.toThrow(name.endsWith("HEADERS") ? /hush/ : /never/);
  });

  test.each([
    ["0", 0],
    ["1", 1],
    ["0.25", 0.25],
    [".5", 0.5],
  ])("the sample %s", (text, sample) => {
    expect(buildSettings({ UNIGATE_TRACE_SAMPLE: text }, undefined).traceSample).toBe(sample);
  });
});

test("secrets among the settings cannot be printed", () => {
  const { environment, ...settings } = buildSettings(
    { UNIGATE_ADMIN_KEY: "hush-1", UNIGATE_MASTER_KEY: "hush-2", UNIGATE_MESH_TOKEN: "hush-3" },
    undefined,
  );
  expect(JSON.stringify(settings)).not.toContain("hush");
  expect([settings.adminKey, settings.masterKey, settings.meshToken].map((secret) => secret?.reveal())).toEqual([
    "hush-1",
    "hush-2",
    "hush-3",
  ]);
  expect(environment).toHaveProperty("UNIGATE_ADMIN_KEY");
});

test.each([
  "redis://127.0.0.1",
  "redis://:hush@cache:6379/1",
  "rediss://us%20er:hush%2C@[::1]:6379",
  "redis://a:1,b:2, redis://u:hush@c-1.example.com:3/",
])("%s is a Redis URL", (url) => {
  expect(buildSettings({ UNIGATE_REDIS_URL: url, UNIGATE_REDIS_CLUSTER: "true" }, undefined)).toMatchObject({ redisCluster: true });
  expect(buildSettings({ UNIGATE_REDIS_URL: url }, undefined).redisUrl?.reveal()).toBe(url);
});

test.each([
  "hush",
  "hush:6379",
  "http://hush@cache",
  "redis://u:hu/sh@cache",
  "redis://u:hush@@cache",
  "redis://u:hush,@cache",
  "redis://",
])("%s is no Redis URL, and the error does not repeat it", (url) => {
  expect(() => buildSettings({ UNIGATE_REDIS_URL: url }, undefined)).toThrow(
    'UNIGATE_REDIS_URL is "[secret]"; expected redis://user:password@host:6379/0 or rediss://',
  );
});

test.each(Object.entries(settingSpecs))("%s has a help text without a full stop, and bounds that make sense", (name, spec) => {
  expect(name).toMatch(/^(HOST|PORT|UNIGATE_[A-Z_]+)$/);
  expect(spec.help).toMatch(/^\S.*[^.\s]$/);
  expect(spec.min ?? 0).toBeLessThanOrEqual(spec.max ?? Number.MAX_SAFE_INTEGER);
});

test.each([
  ["pglite:", "data"],
  ["pglite:./my database", "./my database"],
  ["pglite:../database", "../database"],
  ["pglite:///var/lib/gateway", "/var/lib/gateway"],
  ["pglite:/var/lib/gateway", "/var/lib/gateway"],
])("%s is an embedded database below the folder %s", (url, folder) => {
  const { database } = buildSettings({ UNIGATE_DATABASE_URL: url, UNIGATE_DATA_DIR: "data" }, undefined);
  expect(database).toEqual({ kind: "pglite", folder });
});

test("a database server keeps its URL to itself", () => {
  const { database } = buildSettings({ UNIGATE_DATABASE_URL: "postgresql://u:hush@db/x" }, undefined);
  expect(database).toMatchObject({ kind: "postgres" });
  expect(JSON.stringify(database)).not.toContain("hush");
});

test.each([
  "hush",
  "mysql://u:hush@db/x",
  "postgres://u:hu sh@db",
  "pglite",
  "pglite://hush/x",
  "pglite:hush",
  "pglite://",
  "pglite:///",
  "pglite:///x?hush=1",
  "pglite:./hush%20",
])("%s is no database URL, and the error does not repeat it", (url) => {
  expect(() => buildSettings({ UNIGATE_DATABASE_URL: url }, undefined)).toThrow(
    'UNIGATE_DATABASE_URL is "[secret]"; expected postgres://user:password@host:5432/database',
  );
});

test("a hostile Redis URL is refused soon", { timeout: 5_000 }, () => {
  expect(() => buildSettings({ UNIGATE_REDIS_URL: `redis://a${" , a".repeat(20_000)}!` }, undefined)).toThrow(SettingError);
  expect(() => buildSettings({ UNIGATE_REDIS_URL: `redis://a${" ".repeat(100_000)}!` }, undefined)).toThrow(SettingError);
});

test("a hostile origin list is refused soon", { timeout: 5_000 }, () => {
  expect(() => buildSettings({ UNIGATE_CORS_ORIGINS: `${"https://a,".repeat(20_000)}!` }, undefined)).toThrow(SettingError);
  expect(() => buildSettings({ UNIGATE_CORS_ORIGINS: `${" ,".repeat(20_000)}!` }, undefined)).toThrow(SettingError);
});

test("Kafka: brokers, login and names", () => {
  const brokers = { UNIGATE_KAFKA_BROKERS: " kafka-0:9092, kafka-1:9092 " };
  const plain = { brokers: ["kafka-0:9092", "kafka-1:9092"], topicPrefix: "unigate", tls: false, sasl: null };
  expect(buildSettings(brokers, undefined).kafka).toEqual(plain);
  const login = { UNIGATE_KAFKA_SASL_USERNAME: "u", UNIGATE_KAFKA_SASL_PASSWORD: "p" };
  const more = { UNIGATE_KAFKA_TLS: "true", UNIGATE_KAFKA_TOPIC_PREFIX: "acme", UNIGATE_KAFKA_SASL_MECHANISM: "SCRAM-SHA-512" };
  const { kafka } = buildSettings({ ...brokers, ...login, ...more }, undefined);
  expect(kafka).toMatchObject({ topicPrefix: "acme", tls: true, sasl: { mechanism: "scram-sha-512", username: "u" } });
  expect([kafka?.sasl?.password.reveal(), JSON.stringify(kafka?.sasl?.password)]).toEqual(["p", '"[secret]"']);
});

test.each([
  [{ UNIGATE_KAFKA_BROKERS: "kafka" }, "UNIGATE_KAFKA_BROKERS"],
  [{ UNIGATE_KAFKA_BROKERS: "kafka://kafka:9092" }, "UNIGATE_KAFKA_BROKERS"],
  [{ UNIGATE_KAFKA_TLS: "yes" }, "UNIGATE_KAFKA_TLS"],
  [{ UNIGATE_KAFKA_TOPIC_PREFIX: "a b" }, "UNIGATE_KAFKA_TOPIC_PREFIX"],
  [{ UNIGATE_KAFKA_SASL_MECHANISM: "gssapi" }, "UNIGATE_KAFKA_SASL_MECHANISM"],
  [{ UNIGATE_KAFKA_SASL_USERNAME: "u" }, "UNIGATE_KAFKA_SASL_PASSWORD"],
  [{ UNIGATE_KAFKA_SASL_PASSWORD: "p" }, "UNIGATE_KAFKA_SASL_USERNAME"],
])("Kafka: %j is refused", (given, variable) => {
  expect(() => buildSettings(given, undefined)).toThrow(new RegExp(`^${variable} is `));
});

test("certificates of the mesh: three files or none", () => {
  const names = ["UNIGATE_MESH_CERT", "UNIGATE_MESH_KEY", "UNIGATE_MESH_CA"];
  const all = { UNIGATE_MESH_CERT: "own.pem", UNIGATE_MESH_KEY: "own.key", UNIGATE_MESH_CA: "ca.pem" };
  expect(buildSettings(all, undefined).meshCertificates).toEqual({ certificate: "own.pem", key: "own.key", authority: "ca.pem" });
  for (const name of names) {
    const others = names.filter((other) => other !== name);
    const problem = `${name} is ""; expected the path of a PEM file, since ${others.join(" and ")} are set`;
    expect(() => buildSettings({ ...all, [name]: "" }, undefined)).toThrow(new SettingError(name, "", problem.split("expected ")[1] ?? ""));
    expect(() => buildSettings({ [name]: "x.pem" }, undefined)).toThrow(`since ${name} is set`);
  }
});

describe("workers", () => {
  test.each<[string | undefined, string | undefined, number | "auto"]>([
    ["4", undefined, 4],
    ["64", undefined, 64],
    ["auto", undefined, "auto"],
    ["4", "2", 2],
    [undefined, "auto", "auto"],
    ["", "1", 1],
  ])("UNIGATE_WORKERS=%s --workers %s", (setting, flag, workers) => {
    expect(buildSettings({ UNIGATE_WORKERS: setting }, undefined, flag).workers).toBe(workers);
  });

  test.each(["0", "-1", "65", "4.5", "many", "04", "1e1", ""])("%j is refused, and what would be right is said", (text) => {
    const expected = `is "${text}"; expected a whole number from 1 to 64, or auto for one a processor`;
    expect(() => buildSettings({}, undefined, text)).toThrow(`--workers ${expected}`);
    if (text !== "") expect(() => buildSettings({ UNIGATE_WORKERS: text }, undefined)).toThrow(`UNIGATE_WORKERS ${expected}`);
  });
});
