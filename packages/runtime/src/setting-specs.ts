/** One environment variable: its default, its bounds and its help text. The reference and --help are printed from here. */
export interface SettingSpec {
  readonly default: string | null;
  readonly help: string;
  readonly min?: number;
  readonly max?: number;
  /** What a text must look like. */
  readonly form?: { readonly pattern: RegExp; readonly expected: string };
  /** Holds a secret: an error does not repeat it. */
  readonly secret?: true;
}

/** A setting that cannot be used. */
export class SettingError extends Error {
  override readonly name = "SettingError";

  constructor(variable: string, found: string, expected: string) {
    super(`${variable} is "${found}"; expected ${expected}`);
  }
}

const MIB = 1024 * 1024;
/** The longest a timer can wait, ms and s. */
const LONGEST_MS = 2_147_483_647;
const LONGEST_SECONDS = 2_147_483;

const REDIS_USER = String.raw`(?:[^\s@/,?#]*@)?`;
const REDIS_NODE = String.raw`(?:\[[\da-fA-F:.]+\]|[\w.-]+)(?::\d{1,5})?`;

/** Of `UNIGATE_<SERVICE>_ADDR`. */
export const addressForm: NonNullable<SettingSpec["form"]> = {
  pattern: /^[^\s:]+:\S+$/,
  expected: "a gRPC target such as dns:///unigate-router:50051 or 127.0.0.1:50051",
};

export const settingSpecs: Readonly<Record<string, SettingSpec>> = {
  HOST: {
    default: "127.0.0.1",
    help: "address the HTTP front listens on",
    form: { pattern: /^[^\s/]+$/, expected: "an address or host name such as 0.0.0.0" },
  },
  PORT: { default: "8080", help: "port of the HTTP front; 0 = any free one", max: 65_535 },
  UNIGATE_TARGET: { default: "all", help: "services to run here, comma-separated (same as --target)" },
  UNIGATE_WORKERS: {
    default: "1",
    help: "processes that serve HTTP on the one port (same as --workers); what has state stays in one process beside them",
    form: { pattern: /^(?:auto|[1-9]|[1-5]\d|6[0-4])$/, expected: "a whole number from 1 to 64, or auto for one a processor" },
  },
  UNIGATE_DATA_DIR: { default: ".unigate", help: "folder for keys and stores" },
  UNIGATE_CONFIG: { default: null, help: "unigate.yaml with declared providers, keys and configs" },
  UNIGATE_ADMIN_KEY: { default: null, help: "admin key; made and printed once when absent" },
  UNIGATE_MASTER_KEY: {
    default: null,
    help: "32 bytes, base64 or hex, that seal provider secrets; a 0600 file is made in one process when absent",
  },
  UNIGATE_DATABASE_URL: {
    default: null,
    help: "what keeps saved things and logs: PostgreSQL 15 or later by postgres://user:password@host/database, TLS by ?sslmode=; or, in one process, an embedded one by pglite: (in the data folder), pglite:./folder or pglite:///absolute/folder, which a loss of power may damage; absent = a journal and files in the data folder",
    form: {
      pattern: /^(?:postgres(?:ql)?:\/\/\S+|pglite:(?:(?:\/\/)?\/[^/?#%][^?#%]*|\.{1,2}\/[^?#%]+)?)$/,
      expected:
        "postgres://user:password@host:5432/database, or pglite:, pglite:./folder or pglite:///absolute/folder (without ?, # and %) for an embedded one",
    },
    secret: true,
  },
  UNIGATE_GRPC_LISTEN: {
    default: ":50051",
    help: "address the gRPC server of this process listens on",
    form: { pattern: /^(?:unix:\S+|\S*:\d{1,5})$/, expected: "host:port, :port or unix:/path" },
  },
  UNIGATE_METRICS_PORT: { default: null, help: "port of /healthz, /readyz and /metrics; 9090 when services run apart", max: 65_535 },
  UNIGATE_MESH_CERT: {
    default: null,
    help: "PEM file of the certificate that this process shows to the other services of a mesh, with URI:spiffe://unigate/<service> for each service that it runs; needs UNIGATE_MESH_KEY and UNIGATE_MESH_CA; followed for changes",
  },
  UNIGATE_MESH_KEY: { default: null, help: "PEM file of that certificate's private key, without a passphrase" },
  UNIGATE_MESH_CA: { default: null, help: "PEM file of the authorities that sign the certificates of the mesh" },
  UNIGATE_MESH_TOKEN: {
    default: null,
    help: "shared token between the services of a mesh, in place of certificates or besides; with neither, services listen on loopback only",
  },
  UNIGATE_REDIS_URL: {
    default: null,
    help: "Redis that policy and cache share over all replicas: redis://user:password@host:6379/0, rediss:// for TLS; several, comma-separated, are nodes of a cluster; absent = memory of each process",
    form: {
      pattern: new RegExp(`^rediss?://${REDIS_USER}${REDIS_NODE}(?:/\\d{0,4})?(?:\\s*,\\s*(?:rediss?://${REDIS_USER})?${REDIS_NODE}/?)*$`),
      expected: "redis://user:password@host:6379/0 or rediss:// (percent-encode the password), or several for a cluster",
    },
    secret: true,
  },
  UNIGATE_REDIS_CLUSTER: {
    default: "false",
    help: "true when UNIGATE_REDIS_URL is one address of a Redis Cluster, such as a configuration endpoint",
    form: { pattern: /^(?:true|false)$/, expected: "true or false" },
  },
  UNIGATE_KAFKA_BROKERS: {
    default: null,
    help: "Kafka that carries the logs from edge to logging: host:port, comma-separated; absent = edge hands them to logging itself",
    form: {
      pattern: /^[\s,]*(?:\[[\da-fA-F:.]+\]|[\w.-]+):\d{1,5}(?:[\s,]+(?:\[[\da-fA-F:.]+\]|[\w.-]+):\d{1,5})*[\s,]*$/,
      expected: "host:port of some brokers, comma-separated, such as kafka-0:9092,kafka-1:9092",
    },
  },
  UNIGATE_KAFKA_TOPIC_PREFIX: {
    default: "unigate",
    help: "first word of the topics and the consumer group: unigate.logs.v1, unigate-logging",
    form: { pattern: /^[\w.-]{1,200}$/, expected: "letters, digits, dots, underscores and hyphens" },
  },
  UNIGATE_KAFKA_TLS: {
    default: "false",
    help: "true when the brokers speak TLS; NODE_EXTRA_CA_CERTS names a certificate authority of your own",
    form: { pattern: /^(?:true|false)$/, expected: "true or false" },
  },
  UNIGATE_KAFKA_SASL_MECHANISM: {
    default: "plain",
    help: "how the Kafka user logs in: plain, scram-sha-256 or scram-sha-512",
    form: { pattern: /^(?:plain|scram-sha-256|scram-sha-512)$/i, expected: "one of plain, scram-sha-256, scram-sha-512" },
  },
  UNIGATE_KAFKA_SASL_USERNAME: { default: null, help: "Kafka user; absent = no login" },
  UNIGATE_KAFKA_SASL_PASSWORD: { default: null, help: "password of the Kafka user", secret: true },
  UNIGATE_EGRESS_ALLOW: { default: null, help: "private hosts that users' URLs may reach: names, *.suffix, CIDRs, comma-separated" },
  UNIGATE_BODY_LIMIT: { default: String(20 * MIB), help: "largest JSON body, bytes", min: 1024 },
  UNIGATE_UPLOAD_LIMIT: { default: String(512 * MIB), help: "largest streamed upload, bytes", min: 1024 },
  UNIGATE_INFLIGHT_BYTES: {
    default: String(256 * MIB),
    help: "bodies held in memory at once, by each worker, bytes; more is 503",
    min: 1024,
  },
  UNIGATE_MAX_INFLIGHT: { default: "10000", help: "requests at once in each worker; more is 503", min: 1 },
  UNIGATE_MAX_REQUEST_SECONDS: { default: "900", help: "longest time of one request", min: 1, max: LONGEST_SECONDS },
  UNIGATE_DRAIN_SECONDS: { default: "120", help: "how long running requests may go on after SIGTERM", max: LONGEST_SECONDS },
  UNIGATE_IDENTITY_MAX_STALE: { default: "3600", help: "seconds that known keys work while control is down; 0 = fail at once" },
  UNIGATE_HEARTBEAT_MS: { default: "15000", help: "silence after which a stream gets a comment, ms", min: 10, max: LONGEST_MS },
  UNIGATE_LIMIT_TIMEOUT_MS: {
    default: "1500",
    help: "how long a request waits to be counted by its limits, ms; then on_store_loss says what becomes of it. Longer keeps limits exact on a machine that is too busy",
    min: 50,
    max: 60_000,
  },
  UNIGATE_MANAGEMENT_RPM: {
    default: "1000",
    help: "requests of one key to the management API in a minute, counted by each control; more is 429; 0 = no bound",
    max: 1_000_000,
  },
  UNIGATE_CORS_ORIGINS: {
    default: null,
    help: "origins allowed to call from a browser, comma-separated",
    form: {
      pattern: /^(?:[\s,]*(?:\*|https?:\/\/[^\s,/]+)(?=[\s,]|$))+[\s,]*$/,
      expected: "* or origins such as https://app.example.com, comma-separated",
    },
  },
  UNIGATE_TRACE_SAMPLE: {
    default: "1.0",
    help: "part of the traces whose spans are exported, 0 to 1; a client's traceparent decides for its own",
    form: { pattern: /^(?:0|1|0?\.\d{1,9}|1\.0{1,9})$/, expected: "a number from 0 to 1 such as 0.25" },
  },
  UNIGATE_OTLP_ENDPOINT: {
    default: null,
    help: "OpenTelemetry collector that logging sends spans to, by OTLP over HTTP: http://collector:4318; /v1/traces is added",
    form: { pattern: /^https?:\/\/[^\s/@?#]+(?:\/[^\s?#]*)?$/, expected: "a URL such as http://collector:4318, without user or query" },
  },
  UNIGATE_OTLP_HEADERS: {
    default: null,
    help: "headers for the collector, such as its key: name=value, comma-separated, values percent-encoded",
    form: {
      pattern: /^\s*[!#$%&'*+.^`|~\w-]+=[\x21-\x2b\x2d-\x7e]*(?:\s*,\s*[!#$%&'*+.^`|~\w-]+=[\x21-\x2b\x2d-\x7e]*)*\s*$/,
      expected: "name=value, comma-separated, values percent-encoded",
    },
    secret: true,
  },
  UNIGATE_LOG_LEVEL: {
    default: "info",
    help: "process log: fatal, error, warn, info, debug, trace or silent",
    form: {
      pattern: /^(?:fatal|error|warn|info|debug|trace|silent)$/,
      expected: "one of fatal, error, warn, info, debug, trace, silent",
    },
  },
};
