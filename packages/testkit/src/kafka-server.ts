import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "./free-port.ts";
import { removeFolder } from "./remove-folder.ts";
import { until } from "./until.ts";

/**
 * A Kafka broker of one suite alone that makes no topics by itself and lets nobody do anything without a right to it.
 */
export interface KafkaServer {
  /** "host:port" for users of the test, who log in with SASL plain. */
  readonly broker: string;
  /** "host:port" for the test itself, which may do everything there. */
  readonly adminBroker: string;
  close(): Promise<void>;
}

const START_MS = 90_000;
const JAVA = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

/** Starts a broker from a folder of Kafka's jars, on free ports of loopback. `users` are names and passwords. */
export async function startKafkaServer(jars: string, users: Readonly<Record<string, string>>): Promise<KafkaServer> {
  const folder = mkdtempSync(join(tmpdir(), "unigate-kafka-"));
  const [port, adminPort, controllerPort] = [await freePort(), await freePort(), await freePort()];
  const file = join(folder, "server.properties");
  writeFileSync(file, propertiesOf({ folder, port, adminPort, controllerPort, users }));
  writeFileSync(join(folder, "log4j.properties"), "log4j.rootLogger=ERROR\n");
  const java = [...JAVA, `-Dlog4j.configuration=file:${join(folder, "log4j.properties")}`, "-cp", join(jars, "*")];
  // Never with "-" at its beginning, which would be taken for an option.
  const id = Buffer.concat([Buffer.of(0), randomBytes(15)]).toString("base64url");
  await promisify(execFile)("java", [...java, "kafka.tools.StorageTool", "format", "-t", id, "-c", file], { timeout: START_MS });
  const child = spawn("java", [...java, "kafka.Kafka", file], { stdio: ["ignore", "pipe", "pipe"] });
  const said = listenTo(child);
  try {
    await until(
      "the broker to answer",
      async () => {
        if (child.exitCode !== null) throw new Error(`Kafka ended with ${child.exitCode}: ${said()}`);
        return (await answers(port)) && (await answers(adminPort));
      },
      START_MS,
    );
  } catch (error) {
    await end(child);
    removeFolder(folder);
    throw error;
  }
  return {
    broker: `127.0.0.1:${port}`,
    adminBroker: `127.0.0.1:${adminPort}`,
    async close() {
      await end(child);
      removeFolder(folder);
    },
  };
}

interface Properties {
  readonly folder: string;
  readonly port: number;
  readonly adminPort: number;
  readonly controllerPort: number;
  readonly users: Readonly<Record<string, string>>;
}

function propertiesOf({ folder, port, adminPort, controllerPort, users }: Properties): string {
  const login = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`);
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controllerPort}
listeners=USERS://127.0.0.1:${port},TEST://127.0.0.1:${adminPort},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=USERS://127.0.0.1:${port},TEST://127.0.0.1:${adminPort}
listener.security.protocol.map=USERS:SASL_PLAINTEXT,TEST:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=TEST
listener.name.users.sasl.enabled.mechanisms=PLAIN
listener.name.users.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required ${login.join(" ")};
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
auto.create.topics.enable=false
log.dirs=${join(folder, "data")}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=2
log.cleaner.enable=false
`;
}

/** The last of what it says. */
function listenTo(child: ChildProcess): () => string {
  let text = "";
  const take = (piece: Buffer): void => {
    text = (text + String(piece)).slice(-4_000);
  };
  child.stdout?.on("data", take);
  child.stderr?.on("data", take);
  return () => text;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      resolve(true);
      socket.destroy();
    });
    socket.on("error", () => resolve(false));
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
