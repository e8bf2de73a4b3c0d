import { type CompiledLeaf, GatewayError, mayUseModel, type PlanLeaf } from "@unigate/core";
import { type AttemptResult, failedAttempt } from "./attempt-result.ts";
import { newHookState, type Run } from "./run-state.ts";
import { cancelError } from "./steps/call.ts";
import { chooseDeployment } from "./steps/choose-deployment.ts";
import { reserve } from "./steps/reserve.ts";
import { type ResolvedTarget, resolveTarget } from "./steps/resolve-target.ts";
import { type ShapedBody, shapeBody } from "./steps/shape-body.ts";

/** A leaf of the plan, ready to be tried. */
export interface PreparedTarget {
  /** Its number among the targets of the request. */
  readonly attempt: number;
  readonly leaf: CompiledLeaf;
  readonly shaped: ShapedBody;
  /** Null when it could not be resolved. */
  readonly target: ResolvedTarget | null;
  /** Why it cannot be tried at all; its outcome. */
  readonly failure: AttemptResult | null;
  readonly startedAt: number;
}

/** A prepared target that its limits have been asked about. */
export interface AdmittedTarget extends PreparedTarget {
  /** The limit that is reached; then only a stored answer may be given. */
  limited: GatewayError | null;
}

/** shape-body, resolve-target, reserve. Throws only when a limit refuses the whole request, which the first target asks for. */
export async function admitTarget(run: Run, planned: PlanLeaf): Promise<AdmittedTarget> {
  const prepared = await prepareTarget(run, planned);
  if (!run.call.cancel.cancelled) prepared.limited = await reserve(run, prepared);
  return prepared;
}

/** shape-body and resolve-target. What stands against the target is its `failure`. */
export async function prepareTarget(run: Run, planned: PlanLeaf): Promise<AdmittedTarget> {
  const leaf = run.config.compiled.leaves[planned.index];
  if (leaf === undefined) throw new Error(`the plan names leaf ${planned.index}, which the config does not have`);
  const attempt = run.attempts++;
  const startedAt = run.deps.clock.now();
  run.hooks = newHookState();
  const shaped = shapeBody(run.request, leaf);
  let target: ResolvedTarget | null = null;
  try {
    target = chooseDeployment(await resolveTarget(run, leaf, modelNamed(run)), shaped.model);
    refuseModel(run, target, shaped.model);
  } catch (error) {
    if (!run.call.cancel.cancelled && !(error instanceof GatewayError)) throw error;
    const failure = run.call.cancel.cancelled ? failedAttempt(cancelError(run.call), true) : failedAttempt(error as GatewayError);
    return { attempt, leaf, shaped, target, failure, startedAt, limited: null };
  }
  return { attempt, leaf, shaped, target, failure: null, startedAt, limited: null };
}

/** The model that may name a provider: the body's, else the query's (behaviour 1.1). */
function modelNamed(run: Run): string | undefined {
  const model = run.request.json?.["model"];
  if (typeof model === "string") return model;
  return run.request.query.includes("model=") ? (new URLSearchParams(run.request.query).get("model") ?? undefined) : undefined;
}

/** What the key and the provider's integration say. A proxied request need not name a model; when it does, both hold for it too. */
export function refuseModel(run: Run, { slug, resource }: ResolvedTarget, model: string): void {
  if (run.request.surface === "proxy" && model === "") return;
  const allowed = run.request.principal.key.allowed_models;
  if (allowed !== null && !allowed.includes(model))
    throw new GatewayError("model_not_allowed", `The API key may not use the model "${model}".`, { param: "model" });
  if (!mayUseModel(resource?.model_access, model))
    throw new GatewayError("model_not_allowed", `The model "${model}" is switched off for the provider "@${slug}".`, { param: "model" });
}
