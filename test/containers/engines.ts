import { KafkaContainer } from "@testcontainers/kafka";
import { GenericContainer, type StartedTestContainer, Wait } from "testcontainers";
import { afterAll, vi } from "vitest";

// Every image that tests use.
const REDIS = "redis:7-alpine";
const POSTGRES = "postgres:15-alpine";
const KAFKA = "confluentinc/cp-kafka:7.9.1";

const START_MS = 120_000;
const PASSWORD = "unigate";

/** Starts Redis for this file, and names it as the machine's Redis to what is imported after. Gives its address. */
export async function useRedisContainer(): Promise<string> {
  const container = await started(new GenericContainer(REDIS).withExposedPorts(6379));
  return named("UNIGATE_REDIS_URL", `redis://${container.getHost()}:${container.getMappedPort(6379)}`);
}

/** The same for Postgres. */
export async function usePostgresContainer(): Promise<string> {
  const container = await started(
    new GenericContainer(POSTGRES)
      .withEnvironment({ POSTGRES_USER: "unigate", POSTGRES_PASSWORD: PASSWORD, POSTGRES_DB: "unigate" })
      .withExposedPorts(5432)
      // It starts twice: once to make the database, without a port.
      .withWaitStrategy(Wait.forAll([Wait.forListeningPorts(), Wait.forLogMessage(/ready to accept connections/, 2)])),
  );
  const place = `${container.getHost()}:${container.getMappedPort(5432)}`;
  return named("UNIGATE_DATABASE_URL", `postgres://unigate:${PASSWORD}@${place}/unigate`);
}

/** The same for Kafka. */
export async function useKafkaContainer(): Promise<string> {
  const container = await started(new KafkaContainer(KAFKA).withKraft());
  return named("UNIGATE_KAFKA_BROKERS", `${container.getHost()}:${container.getMappedPort(9093)}`);
}

function named(variable: string, address: string): string {
  vi.stubEnv(variable, address);
  return address;
}

async function started(container: GenericContainer): Promise<StartedTestContainer> {
  // What cleans up after a killed run is an image of its own; these tests stop what they start.
  vi.stubEnv("TESTCONTAINERS_RYUK_DISABLED", "true");
  const running = await container.withStartupTimeout(START_MS).start();
  afterAll(async () => {
    await running.stop();
    vi.unstubAllEnvs();
  });
  return running;
}
