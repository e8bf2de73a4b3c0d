export type { KafkaConnection, KafkaSasl } from "./connection.ts";
export { type ConsumerDeps, type RunningConsumer, startConsumer } from "./consumer.ts";
export { type KafkaDelivery, type KafkaDeliveryDeps, kafkaDelivery } from "./kafka-delivery.ts";
export type { KafkaLog } from "./log.ts";
export { type ReadBodiesMessage, type ReadLogMessage, type RecordBodies, readBodiesMessage, readLogMessage } from "./read-message.ts";
export type { StoreValues, Unusable } from "./store-batches.ts";
