import { type Logger as PinoLogger, pino } from "pino";

/** The process log: static text, data in fields, JSON lines on standard error. */
export type Logger = Pick<PinoLogger, "debug" | "info" | "warn" | "error" | "fatal">;

/** A logger for one process. Never given a body, a header value or a Secret. */
export function createLogger(level: string, name: string): Logger {
  return pino(
    { level, name, base: { service: name }, redact: { paths: ["*.authorization", "*.api_key", "*.headers"], censor: "[secret]" } },
    pino.destination({ fd: 2, sync: false }),
  );
}
