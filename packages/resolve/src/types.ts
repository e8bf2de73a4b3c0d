import type { ControlPort, Sealed, Tenant } from "@unigate/contracts";
import type { Call, Clock } from "@unigate/core";

/** What control can resolve (control.proto, `Ref.kind`). */
export type ResourceKind =
  | "api_key"
  | "config"
  | "provider"
  | "providers"
  | "guardrail"
  | "prompt"
  | "policy_set"
  | "workspace"
  | "organisation";

/** Names a saved thing, as the tenant sees it. An api_key may be named by `keyHash` alone, with an empty id. */
export interface ResourceRef {
  readonly kind: ResourceKind;
  readonly id: string;
  readonly tenant: Tenant;
  /** SHA-256 of a gateway key's text. */
  readonly keyHash?: Buffer;
}

/**
 * A saved thing as it was last known. `value` is parsed once and stays the same object until the thing changes, so
 * that what is made from it may be remembered by it. Nobody changes it.
 */
export interface Resolution<T> {
  readonly value: T;
  /** Its credentials, sealed. */
  readonly sealed: Sealed | undefined;
  readonly version: string;
}

/** The client cache of `control` (mesh.md section 6). */
export interface Resolver {
  /**
   * The thing, from the cache whenever it may be; null when there is none. Waits for control only when nothing is
   * known or what is known may be out of date. Throws GatewayError: "identity_unavailable" (keys, workspaces,
   * organisations) or "service_unavailable" when control does not answer and nothing young enough is known, and
   * "client_closed", "request_timeout" or "server_shutting_down" when the call is cancelled first.
   */
  resolve<T>(ref: ResourceRef, call: Call): Promise<Resolution<T> | null>;
  /** What `resolve` would give at once: the thing, null when it is known to be missing, undefined when control must be asked. */
  peek<T>(ref: ResourceRef): Resolution<T> | null | undefined;
  /** Begins to watch for changes. Before it, and without it, the cache goes by age alone. */
  start(): void;
  /** Ends the watch. */
  stop(): Promise<void>;
  /** Resolves once control has answered anything at all. */
  readonly ready: Promise<void>;
  isReady(): boolean;
  stats(): ResolverStats;
}

export interface ResolverStats {
  /** No word from control's Watch: what is known may be out of date. */
  readonly blind: boolean;
  readonly entries: number;
  /** Refs known to be missing. */
  readonly missing: number;
  /** Refs asked for and not answered. */
  readonly inFlight: number;
  /** Refs waiting to be asked for. */
  readonly queued: number;
}

/** Bounds and ages of the cache; every one has a default. Ages are ms. */
export interface ResolverLimits {
  /** Default 10,000. */
  readonly entries: number;
  /** Refs known to be missing. Default 10,000. */
  readonly missingEntries: number;
  /** How long a missing ref stays missing. Default 5 s. */
  readonly missingAgeMs: number;
  /** Older than this (less up to 20 %, by chance) is refreshed in the background; while blind, before it is used. Default 60 s. */
  readonly softAgeMs: number;
  /** How long keys, workspaces and organisations are trusted without word from control; 0 = not at all. Default 1 h. */
  readonly identityMaxStaleMs: number;
  /** The same for all other kinds. Default 24 h. */
  readonly otherMaxStaleMs: number;
  /** Control's heartbeat on Watch; after two missing ones the cache is blind. Default 1 s. */
  readonly heartbeatMs: number;
  /** Longest wait before Watch is opened again; the wait is a chance part of it. Default 2 s. */
  readonly reconnectMs: number;
  /** Refs asked for at once. Default 50. */
  readonly inFlight: number;
  /** Refs waiting to be asked for; more fail. Default 5,000. */
  readonly queue: number;
  /** Longest wait for an answer of control. Default 2 s. */
  readonly answerMs: number;
}

export interface ResolverDeps {
  readonly control: Pick<ControlPort, "resolve" | "watch">;
  readonly clock: Clock;
  readonly limits?: Partial<ResolverLimits>;
  readonly random?: () => number;
  /** Told when the watch is lost or found again. Must not throw. */
  readonly onBlind?: (blind: boolean) => void;
}

export const DEFAULT_LIMITS: ResolverLimits = {
  entries: 10_000,
  missingEntries: 10_000,
  missingAgeMs: 5_000,
  softAgeMs: 60_000,
  identityMaxStaleMs: 3_600_000,
  otherMaxStaleMs: 86_400_000,
  heartbeatMs: 1_000,
  reconnectMs: 2_000,
  inFlight: 50,
  queue: 5_000,
  answerMs: 2_000,
};
