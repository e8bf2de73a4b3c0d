import { isObject } from "@unigate/core";
import type { MetricsPage, MetricsSnapshot } from "@unigate/runtime";

// What the primary and its workers say to each other over the channel that node:cluster makes.

/** From the primary to a worker. */
export type Order =
  /** Every second. */
  | { readonly kind: "alive" }
  | { readonly kind: "stop"; readonly interactive: boolean }
  | { readonly kind: "hurry" }
  /** Asks for the worker's own metrics. */
  | { readonly kind: "snapshot"; readonly id: number }
  /** The page of all processes that was asked for; null = it could not be made. */
  | { readonly kind: "page"; readonly id: number; readonly page: MetricsPage | null };

/** From a worker to the primary. */
export type Word =
  | { readonly kind: "ready"; readonly httpPort: number }
  /** It could not start. */
  | { readonly kind: "failed"; readonly name: string; readonly text: string; readonly stack: string }
  | { readonly kind: "snapshot"; readonly id: number; readonly metrics: MetricsSnapshot }
  /** Asks for the metrics of all processes. */
  | { readonly kind: "page"; readonly id: number };

/** Both ends are of one build: a kind is enough to know the rest. */
export function isMessage(message: unknown): message is { readonly kind: string } {
  return isObject(message) && typeof message["kind"] === "string";
}

/** What the primary gives a worker at its start, by its environment. */
export interface Assignment {
  /** 1 to the number of workers; a worker that is started again keeps it. */
  readonly number: number;
  /** gRPC address of the primary. */
  readonly owner: string;
}

const NUMBER = "UNIGATE_WORKER";
const OWNER = "UNIGATE_WORKER_OWNER";

export function assignmentVariables({ number, owner }: Assignment): Record<string, string> {
  return { [NUMBER]: String(number), [OWNER]: owner };
}

/** Null in a process that is no worker. */
export function readAssignment(environment: Readonly<Record<string, string | undefined>>): Assignment | null {
  const [number, owner] = [environment[NUMBER], environment[OWNER]];
  return number === undefined || owner === undefined ? null : { number: Number(number), owner };
}
