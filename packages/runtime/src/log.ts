import { type Logger as PinoLogger, pino } from "pino";

/** The process log: static text, data in fields, JSON lines on standard error. */
export type Logger = Pick<PinoLogger, "debug" | "info" | "warn" | "error" | "fatal">;

/** A logger for one process; its lines carry the number of a worker. Never given a body, a header value or a Secret. */
export function createLogger(level: string, name: string, worker: number | null = null): Logger {
  const base = worker === null ? { service: name } : { service: name, worker };
  return pino(
    { level, name, base, redact: { paths: ["*.authorization", "*.api_key", "*.headers"], censor: "[secret]" } },
    pino.destination({ fd: 2, sync: false }),
  );
}
