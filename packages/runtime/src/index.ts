export { markOf, pollFile } from "./file-poll.ts";
export { FlagError, type Flags, flagHelp, readFlags } from "./flags.ts";
export { answerHealth, Health, type HealthAnswer, listen, type Readiness, serveHealth } from "./health.ts";
export { createLogger, type Logger } from "./log.ts";
export { addCounts, mergeMetrics } from "./merge-metrics.ts";
export {
  createMetrics,
  type LabelledCount,
  type Metrics,
  type MetricsPage,
  type MetricsSnapshot,
  type MetricsSource,
} from "./metrics.ts";
export { readProcess } from "./process-env.ts";
export { SettingError, type SettingSpec, settingSpecs } from "./setting-specs.ts";
export { buildSettings, type CertificateFiles, type Settings } from "./settings.ts";
export { onStopSignals, type StopRequest } from "./signals.ts";
