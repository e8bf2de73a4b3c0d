import { type logCreator, logLevel } from "kafkajs";

/** The part of the process's logger that is used here. */
export interface KafkaLog {
  debug(fields: object, text: string): void;
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

/**
 * What kafkajs says goes to the debug log: it tells every try of an outage as an error. What matters of it is told once,
 * by whoever uses it.
 */
export function bridgeLog(log: KafkaLog): { readonly logLevel: logLevel; readonly logCreator: logCreator } {
  return {
    logLevel: logLevel.WARN,
    logCreator:
      () =>
      ({ namespace, label, log: { message, broker, groupId, error } }) =>
        log.debug(
          { part: namespace, level: label, broker, groupId, error: error === undefined ? undefined : String(error) },
          `kafka: ${message}`,
        ),
  };
}

/** A failure in one line: kafkajs wraps the cause in several others. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message.slice(0, 300);
}

/** Type of a broker's answer such as MESSAGE_TOO_LARGE, wherever it is among the causes; "" when none answered. */
export function brokerCode(error: unknown): string {
  let at = error;
  for (let depth = 0; depth < 5 && at instanceof Error; depth++) {
    const { type, cause, errors } = at as Error & { type?: unknown; errors?: unknown };
    if (typeof type === "string") return type;
    at = Array.isArray(errors) ? errors[0] : cause;
  }
  return "";
}
