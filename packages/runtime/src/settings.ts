import { Secret } from "@unigate/core";
import { addressForm, SettingError, type SettingSpec, settingSpecs } from "./setting-specs.ts";

/** Every setting of the process, read and checked once at start. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly configFile: string | null;
  readonly adminKey: Secret | null;
  readonly masterKey: Secret | null;
  readonly targets: readonly string[];
  /** Processes that serve HTTP; "auto" = one a processor. */
  readonly workers: number | "auto";
  readonly grpcListen: string;
  readonly metricsPort: number | null;
  readonly meshToken: Secret | null;
  /** Certificates between the services of a mesh; null = none. */
  readonly meshCertificates: CertificateFiles | null;
  /** `UNIGATE_DATABASE_URL`; null = a journal and files. */
  readonly database: DatabaseSettings | null;
  /** Redis for policy and cache; null = their own memory. */
  readonly redisUrl: Secret | null;
  readonly redisCluster: boolean;
  /** Kafka between edge and logging; null = edge hands its records to logging itself. */
  readonly kafka: KafkaSettings | null;
  /** Address of each service that runs elsewhere. */
  readonly addresses: Readonly<Record<string, string>>;
  /** `UNIGATE_EGRESS_ALLOW`; null = not set. */
  readonly egressAllow: string | null;
  readonly bodyLimit: number;
  readonly uploadLimit: number;
  readonly inflightBytes: number;
  readonly maxInflight: number;
  readonly maxRequestSeconds: number;
  readonly drainSeconds: number;
  readonly identityMaxStaleSeconds: number;
  readonly heartbeatMs: number;
  readonly limitTimeoutMs: number;
  /** Most requests of one key to the management API in a minute; 0 = no bound. */
  readonly managementPerMinute: number;
  readonly corsOrigins: readonly string[];
  /** The part of the traces that begin here whose spans are exported, 0 to 1. */
  readonly traceSample: number;
  /** Collector of spans; null = none. */
  readonly otlp: OtlpSettings | null;
  readonly logLevel: string;
  /** Credentials of providers by environment variable, for control. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A PostgreSQL server, or an embedded one below a folder that one process owns. */
export type DatabaseSettings = { readonly kind: "postgres"; readonly url: Secret } | { readonly kind: "pglite"; readonly folder: string };

/** `UNIGATE_MESH_CERT`, `_KEY` and `_CA`: paths of PEM files. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
}

/** `UNIGATE_KAFKA_*`. */
export interface KafkaSettings {
  readonly brokers: readonly string[];
  readonly topicPrefix: string;
  readonly tls: boolean;
  readonly sasl: {
    readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
    readonly username: string;
    readonly password: Secret;
  } | null;
}

/** `UNIGATE_OTLP_*`. */
export interface OtlpSettings {
  /** Without a slash at its end. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, Secret>>;
}

/** Services that may have an address of their own. */
const SERVICES = ["router", "connector", "cache", "policy", "guardrail", "logging", "control"] as const;

/**
 * The settings that a flat environment makes, with `--target` and `--workers` over it. Pure. Throws SettingError that names the
 * variable, what it holds and what was expected.
 */
export function buildSettings(
  environment: Readonly<Record<string, string | undefined>>,
  targets: string | undefined,
  workers?: string,
): Settings {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) if (value !== undefined && value !== "") given[name] = value;
  const text = (name: string): string | null => readText(name, given[name], settingSpecs[name]);
  const secret = (name: string): Secret | null => {
    const value = text(name);
    return value === null ? null : new Secret(value);
  };
  const required = (name: string): string => text(name) ?? "";
  const number = (name: string): number => readNumber(name, required(name), settingSpecs[name]);
  const addresses: Record<string, string> = {};
  for (const service of SERVICES) {
    const name = `UNIGATE_${service.toUpperCase()}_ADDR`;
    const address = readText(name, given[name], { default: null, help: "", form: addressForm });
    if (address !== null) addresses[service] = address;
  }
  return {
    host: required("HOST"),
    port: number("PORT"),
    dataDir: required("UNIGATE_DATA_DIR"),
    configFile: text("UNIGATE_CONFIG"),
    adminKey: secret("UNIGATE_ADMIN_KEY"),
    masterKey: secret("UNIGATE_MASTER_KEY"),
    targets: targets === undefined ? readTargets("UNIGATE_TARGET", required("UNIGATE_TARGET")) : readTargets("--target", targets),
    workers: readWorkers(text("UNIGATE_WORKERS") ?? "", workers),
    grpcListen: required("UNIGATE_GRPC_LISTEN"),
    metricsPort: text("UNIGATE_METRICS_PORT") === null ? null : number("UNIGATE_METRICS_PORT"),
    meshToken: secret("UNIGATE_MESH_TOKEN"),
    meshCertificates: readCertificateFiles(text),
    database: readDatabase(text("UNIGATE_DATABASE_URL"), required("UNIGATE_DATA_DIR")),
    redisUrl: secret("UNIGATE_REDIS_URL"),
    redisCluster: required("UNIGATE_REDIS_CLUSTER") === "true",
    kafka: readKafka(text, secret),
    addresses,
    egressAllow: text("UNIGATE_EGRESS_ALLOW"),
    bodyLimit: number("UNIGATE_BODY_LIMIT"),
    uploadLimit: number("UNIGATE_UPLOAD_LIMIT"),
    inflightBytes: number("UNIGATE_INFLIGHT_BYTES"),
    maxInflight: number("UNIGATE_MAX_INFLIGHT"),
    maxRequestSeconds: number("UNIGATE_MAX_REQUEST_SECONDS"),
    drainSeconds: number("UNIGATE_DRAIN_SECONDS"),
    identityMaxStaleSeconds: number("UNIGATE_IDENTITY_MAX_STALE"),
    heartbeatMs: number("UNIGATE_HEARTBEAT_MS"),
    limitTimeoutMs: number("UNIGATE_LIMIT_TIMEOUT_MS"),
    managementPerMinute: number("UNIGATE_MANAGEMENT_RPM"),
    corsOrigins: list(text("UNIGATE_CORS_ORIGINS") ?? ""),
    traceSample: Number(required("UNIGATE_TRACE_SAMPLE")),
    otlp: readOtlp(text),
    logLevel: required("UNIGATE_LOG_LEVEL"),
    environment: given,
  };
}

function readDatabase(url: string | null, dataDir: string): DatabaseSettings | null {
  if (url === null) return null;
  const embedded = /^pglite:(?:\/\/(?=\/))?(.*)$/s.exec(url);
  if (embedded === null) return { kind: "postgres", url: new Secret(url) };
  return { kind: "pglite", folder: embedded[1] || dataDir };
}

function readCertificateFiles(text: (name: string) => string | null): CertificateFiles | null {
  const names = ["UNIGATE_MESH_CERT", "UNIGATE_MESH_KEY", "UNIGATE_MESH_CA"] as const;
  const [certificate = null, key = null, authority = null] = names.map(text);
  if (certificate !== null && key !== null && authority !== null) return { certificate, key, authority };
  const given = names.filter((name) => text(name) !== null);
  if (given.length === 0) return null;
  const missing = names.find((name) => text(name) === null) ?? names[0];
  throw new SettingError(missing, "", `the path of a PEM file, since ${given.join(" and ")} ${given.length === 1 ? "is" : "are"} set`);
}

function readKafka(text: (name: string) => string | null, secret: (name: string) => Secret | null): KafkaSettings | null {
  const brokers = list((text("UNIGATE_KAFKA_BROKERS") ?? "").replaceAll(/\s+/g, ","));
  const topicPrefix = text("UNIGATE_KAFKA_TOPIC_PREFIX") ?? "";
  const tls = text("UNIGATE_KAFKA_TLS") === "true";
  const mechanism = text("UNIGATE_KAFKA_SASL_MECHANISM")?.toLowerCase() as NonNullable<KafkaSettings["sasl"]>["mechanism"];
  const username = text("UNIGATE_KAFKA_SASL_USERNAME");
  const password = secret("UNIGATE_KAFKA_SASL_PASSWORD");
  if (username === null && password !== null) throw new SettingError("UNIGATE_KAFKA_SASL_USERNAME", "", "the user of the password");
  if (username !== null && password === null) throw new SettingError("UNIGATE_KAFKA_SASL_PASSWORD", "", "the password of the user");
  if (brokers.length === 0) return null;
  return { brokers, topicPrefix, tls, sasl: username === null || password === null ? null : { mechanism, username, password } };
}

function readOtlp(text: (name: string) => string | null): OtlpSettings | null {
  const endpoint = text("UNIGATE_OTLP_ENDPOINT");
  const headers: Record<string, Secret> = {};
  for (const pair of list(text("UNIGATE_OTLP_HEADERS") ?? "")) {
    const mark = pair.indexOf("=");
    headers[pair.slice(0, mark).toLowerCase()] = new Secret(percentDecoded(pair.slice(mark + 1)));
  }
  return endpoint === null ? null : { endpoint: endpoint.replace(/\/+$/, ""), headers };
}

function percentDecoded(value: string): string {
  try {
    const decoded = decodeURIComponent(value);
    if (/^[\x20-\x7e]*$/.test(decoded)) return decoded;
  } catch {
    // Told below.
  }
  throw new SettingError("UNIGATE_OTLP_HEADERS", "[secret]", "percent-encoded values of printable ASCII");
}

function list(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function readTargets(name: string, text: string): string[] {
  const targets = list(text);
  if (targets.length > 0) return targets;
  throw new SettingError(name, text, "all, or services such as edge,connector");
}

function readWorkers(setting: string, flag: string | undefined): number | "auto" {
  const text = flag === undefined ? setting : readText("--workers", flag, settingSpecs["UNIGATE_WORKERS"]);
  return text === "auto" ? text : Number(text);
}

function readText(name: string, text: string | undefined, spec: SettingSpec | undefined): string | null {
  if (text === undefined) return spec?.default ?? null;
  if (spec?.form === undefined || spec.form.pattern.test(text)) return text;
  throw new SettingError(name, spec.secret === true ? "[secret]" : text, spec.form.expected);
}

function readNumber(name: string, text: string, spec: SettingSpec | undefined): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = spec ?? {};
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new SettingError(name, text, `a whole number from ${min} to ${max}`);
}
