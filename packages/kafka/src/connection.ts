import type { Secret } from "@unigate/core";
import { Kafka, type KafkaConfig } from "kafkajs";
import { bridgeLog, type KafkaLog } from "./log.ts";

/** Where Kafka is and how one gets in. */
export interface KafkaConnection {
  /** "host:port" of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  /** TLS, checked against the certificates that Node trusts. */
  readonly tls: boolean;
  readonly sasl: KafkaSasl | null;
  /** First word of the topics' and the group's names. */
  readonly topicPrefix: string;
}

export interface KafkaSasl {
  readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
  readonly username: string;
  readonly password: Secret;
}

const CONNECT_MS = 3_000;
/** An unanswered request is given up: shorter than the time that a delivery of the spool may take. */
const REQUEST_MS = 6_000;

/** A client that connects with its first use. All that it retries is bounded; whoever uses it tries again later. */
export function openKafka({ brokers, tls, sasl }: KafkaConnection, log: KafkaLog): Kafka {
  const config: KafkaConfig = {
    clientId: "unigate",
    brokers: [...brokers],
    ssl: tls,
    connectionTimeout: CONNECT_MS,
    authenticationTimeout: CONNECT_MS,
    requestTimeout: REQUEST_MS,
    retry: { retries: 2, initialRetryTime: 200, maxRetryTime: 1_000 },
    ...bridgeLog(log),
  };
  return new Kafka(sasl === null ? config : { ...config, sasl: saslOptions(sasl) });
}

function saslOptions({ mechanism, username, password }: KafkaSasl): NonNullable<KafkaConfig["sasl"]> {
  const login = { username, password: password.reveal() };
  if (mechanism === "plain") return { mechanism, ...login };
  if (mechanism === "scram-sha-256") return { mechanism, ...login };
  return { mechanism, ...login };
}
