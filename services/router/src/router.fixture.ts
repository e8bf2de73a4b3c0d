import { createHash } from "node:crypto";
import { type AttemptOutcome, type InFlight, PlanRequest } from "@unigate/contracts";
import { backgroundCall, bufferOfJson, type PlanNode } from "@unigate/core";
import { type Breakers, createMemoryBreakers, createMemoryMeasurements, type Measurements } from "@unigate/storage";
import { createRouterService, type RouterDeps } from "./service.ts";

export const COOLDOWN = 30_000;
const CALL = backgroundCall(Number.POSITIVE_INFINITY);

export function manualClock(): { now(): number; advance(ms: number): void } {
  let time = Date.parse("2026-03-04T05:06:07.890Z");
  return {
    now: () => time,
    advance(ms) {
      time += ms;
    },
  };
}

/** A config of `count` targets whose breakers open with the second failure. */
export function breakingConfig(strategy: object = {}, targets: readonly object[] = plainTargets(2)): object {
  return { strategy: { mode: "fallback", cb_config: { failure_threshold: 2, cooldown_interval: COOLDOWN }, ...strategy }, targets };
}

export function plainTargets(count: number): object[] {
  return Array.from({ length: count }, () => ({ provider: "mock" }));
}

/** A router beside a caller that plans and reports one config. */
export function startRouter(over: Partial<RouterDeps> & { readonly clock: RouterDeps["clock"] }) {
  const breakers: Breakers = over.breakers ?? createMemoryBreakers({ clock: over.clock });
  const measurements: Measurements = over.measurements ?? createMemoryMeasurements({ clock: over.clock });
  const router = createRouterService({ draw: () => 0, ...over, breakers, measurements });
  return {
    ...router,
    /** Option paths in the order of the plan, a probe with "?" behind it, and what was said of breakers. */
    async plan(config: object, organisationId = "org-a") {
      const reply = await router.port.plan(planRequest(config, organisationId), CALL);
      if (reply.outcome?.$case !== "plan") throw new Error(JSON.stringify(reply.outcome));
      const leaves = leavesOf(reply.outcome.value);
      const { choices } = JSON.parse(reply.decisionJson.toString()) as { choices: { mode: string }[] };
      return {
        order: leaves.map(({ optionPath, probeToken }) => optionPath.replace("config.", "") + (probeToken === "" ? "" : "?")),
        token: leaves.find(({ probeToken }) => probeToken !== "")?.probeToken ?? "",
        breakers: choices.filter(({ mode }) => mode === "breaker"),
      };
    },
    report: (config: object, ...outcomes: Partial<AttemptOutcome>[]) =>
      router.port.report(
        { outcomes: outcomes.map((outcome) => ({ ...outcomeOf(config), ...outcome })), inFlight: [], reporter: "edge-1" },
        CALL,
      ),
    underWay: (config: object, reporter: string, one: Partial<InFlight>) =>
      router.port.report({ outcomes: [], inFlight: [{ ...versionOf(config), optionPath: "", count: 0, at: 0, ...one }], reporter }, CALL),
    breakers: (config: object, organisationId = "org-a") =>
      router.port.breakers({ tenant: { organisationId, workspaceId: "ws" }, configId: "pc-test", configHash: hashOf(config) }, CALL),
  };
}

function versionOf(config: object) {
  return { tenant: { organisationId: "org-a", workspaceId: "ws" }, configId: "pc-test", configHash: hashOf(config) };
}

function hashOf(config: object): Buffer {
  return createHash("sha256").update(bufferOfJson(config)).digest();
}

export function planRequest(config: object, organisationId: string): PlanRequest {
  return PlanRequest.fromPartial({
    tenant: { organisationId, workspaceId: "ws" },
    configHash: hashOf(config),
    configJson: bufferOfJson(config),
    configId: "pc-test",
  });
}

export function outcomeOf(config: object): AttemptOutcome {
  return {
    tenant: { organisationId: "org-a", workspaceId: "ws" },
    configId: "pc-test",
    configHash: hashOf(config),
    optionPath: "config.targets[0]",
    status: 500,
    firstByteMs: 10,
    totalMs: 20,
    probeToken: "",
    at: 0,
  };
}

function leavesOf({ kind }: PlanNode): { optionPath: string; probeToken: string }[] {
  if (kind?.$case === "leaf") return [kind.value];
  return (kind?.$case === "sequence" ? kind.value.steps : (kind?.value.racers ?? [])).flatMap(leavesOf);
}
