import type { Remaining } from "@unigate/contracts";
import type { Call, CompiledConfig, JsonObject, PlanLeaf } from "@unigate/core";
import type { EdgeDeps } from "../deps.ts";
import type { GatewayRequest } from "../gateway-request.ts";
import { type LeafHooks, NO_HOOKS } from "./steps/resolve-hooks.ts";
import type { Tried } from "./tried.ts";

/** A config ready to run one request. */
export interface RequestConfig {
  /** "pc-..." of a saved config, "sha256:<hex>" of an inline one, "" when there is none. */
  readonly id: string;
  readonly version: string;
  readonly origin: "saved" | "inline" | "none";
  readonly compiled: CompiledConfig;
  /** SHA-256 of `json`. */
  readonly hash: Buffer;
  /** The credential-free config, for a router that does not know the hash. */
  readonly json: Buffer;
  /** Credentials of an inline config by option path; saved ones stay sealed. */
  readonly credentials: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** What is known of one request while it runs. Steps read it; only the attempt loop writes the counters. */
export interface Run {
  readonly deps: EdgeDeps;
  readonly request: GatewayRequest;
  /** The request's call, bounded by the longest time a request may take. */
  readonly call: Call;
  readonly config: RequestConfig;
  /** Metadata of request, key and workspace, merged. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Number of the next attempt; one a target, retries included in it. */
  attempts: number;
  readonly limits: LimitState;
  /** What planning decided, for the log. */
  decision: JsonObject;
  /** Targets tried, the last ones, for the decision. */
  readonly tried: Tried[];
  /** Targets of the plan that are probes of half-open breakers, until their outcome is told. */
  readonly probes: PlanLeaf[];
  /** When its plan was made, Unix ms, and how long that took; null when nothing was to be chosen. */
  planning: { readonly at: number; readonly tookMs: number } | null;
  /** Ends the count of the target that is under way; null = none is counted. */
  endTarget: (() => void) | null;
  /** Its number in the spool, once it is admitted; 0 before. */
  spoolNumber: number;
  /** Its last record is made and its reservation closed; the loser of a hedge may still be on its way. */
  isOver: boolean;
  /** Of the target that is being tried; each target begins anew. */
  hooks: HookState;
}

/** What limits said; only the steps reserve and settle write it. */
export interface LimitState {
  /** Whether policy may keep a reservation that has to be settled. */
  isReserved: boolean;
  /** What is left of the limits that count the request. */
  readonly ofRequest: Remaining[];
  /** What is left of the limits that count the target tried last. */
  ofTarget: Remaining[];
}

/** What hooks said of one target, and how long was spent beside the upstream, ms; null = not asked. */
export interface HookState {
  /** The target's hooks, saved ones with what is saved of them. */
  resolved: LeafHooks;
  readonly before: unknown[];
  readonly after: unknown[];
  /** 246 once a hook failed softly, else 0. */
  softStatus: number;
  guardrailMs: number | null;
  cacheMs: number | null;
  /** Unix ms at which the cache was asked; null = not asked. */
  cacheAt: number | null;
}

export function newHookState(): HookState {
  return { resolved: NO_HOOKS, before: [], after: [], softStatus: 0, guardrailMs: null, cacheMs: null, cacheAt: null };
}

/** The status that the client gets: a success is 246 when a hook failed softly (behaviour 7.2). */
export function answeredStatus(run: Run, status: number): number {
  return status === 200 && run.hooks.softStatus !== 0 ? run.hooks.softStatus : status;
}
