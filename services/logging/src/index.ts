export { createLogStore, type LogStore, type LogStoreLimits, type LogStoreStats } from "./log-store.ts";
export { createLoggingService, type LoggingDeps } from "./service.ts";
