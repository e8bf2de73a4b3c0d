import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { MetricsSource } from "./metrics.ts";

/** Why a process is not ready; empty when it is. */
export interface Readiness {
  reasons(): readonly string[];
}

/** Collects the reasons of all parts of a process. */
export class Health implements Readiness {
  readonly #checks = new Map<string, () => string | null>();

  /** `check` gives the reason for not being ready, or null. */
  add(part: string, check: () => string | null): void {
    this.#checks.set(part, check);
  }

  reasons(): readonly string[] {
    const found: string[] = [];
    for (const [part, check] of this.#checks) {
      const reason = check();
      if (reason !== null) found.push(`${part}: ${reason}`);
    }
    return found;
  }
}

export interface HealthAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The answer to /healthz, /readyz or /metrics; null for any other path. */
export async function answerHealth(path: string, health: Readiness, metrics: MetricsSource): Promise<HealthAnswer | null> {
  switch (path) {
    case "/healthz":
      return { status: 200, contentType: "application/json", body: '{"status":"ok"}' };
    case "/readyz": {
      const reasons = health.reasons();
      const body = JSON.stringify(reasons.length === 0 ? { status: "ready" } : { status: "not_ready", reasons });
      return { status: reasons.length === 0 ? 200 : 503, contentType: "application/json", body };
    }
    case "/metrics":
      return answerMetrics(metrics);
    default:
      return null;
  }
}

async function answerMetrics(metrics: MetricsSource): Promise<HealthAnswer> {
  try {
    return { status: 200, ...(await metrics.page()) };
  } catch (error) {
    const message = `The metrics cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    return { status: 500, contentType: "application/json", body: JSON.stringify({ error: { message } }) };
  }
}

/** Serves /healthz, /readyz and /metrics on a port of their own, for kubelet probes and Prometheus. */
export async function serveHealth(
  host: string,
  port: number,
  health: Readiness,
  metrics: MetricsSource,
): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    void answerHealth((request.url ?? "").split("?")[0] ?? "", health, metrics).then(
      (answer) => {
        response.writeHead(answer?.status ?? 404, { "content-type": answer?.contentType ?? "application/json" });
        response.end(answer?.body ?? '{"error":{"message":"only /healthz, /readyz and /metrics are here"}}');
      },
      () => {
        response.writeHead(500);
        response.end();
      },
    );
  });
  await listen(server, host, port);
  return { port: (server.address() as AddressInfo).port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** Listens, or fails with an error that names the address. */
export function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "it is already in use; stop the other process or choose another port" : cause.message;
      reject(new Error(`cannot listen on ${host}:${port}: ${why}`, { cause }));
    });
    server.listen(port, host, resolve);
  });
}
