export type { BatchOutcome } from "./append.ts";
export { consumeLogs, type LogConsumerDeps } from "./consume-logs.ts";
export { type KeptLogStoreOptions, openKeptLogStore } from "./kept/kept-log-store.ts";
export type { AddOutcome, LogStore } from "./log-store.ts";
export { createLogStore, type MemoryLogStore } from "./memory/memory-log-store.ts";
export { openSqlLogStore } from "./open-sql-log-store.ts";
export { createSpanExport, type SpanExport, type SpanExportDeps, withSpanExport } from "./otlp/span-export.ts";
export { createLoggingService, type LoggingDeps } from "./service.ts";
export type { SqlLogStoreDeps } from "./sql/sql-log-store.ts";
