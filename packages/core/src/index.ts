export { type BreakerFields, type BreakerOutcome, type BreakerRule, breakerOutcome, breakerRule } from "./breaker/rule.ts";
export {
  addOutcome,
  type BreakerCounts,
  type BreakerPhase,
  type BreakerState,
  breakerPhase,
  CLOSED_BREAKER,
  counted,
  countOutcomes,
  endProbe,
  NO_COUNTS,
} from "./breaker/state.ts";
export { type BoundedCall, backgroundCall, boundCall, type Call } from "./call.ts";
export { type CancelReason, CancelToken, sleep, toAbortSignal } from "./cancel.ts";
export { type Clock, systemClock } from "./clock.ts";
export { type CompileResult, compileConfig, slugOf } from "./config/compile.ts";
export { type CutConfig, cutCredentials } from "./config/cut-credentials.ts";
export { ADDRESS_SETTINGS, CREDENTIAL_FIELDS, fieldName, renameAliases, SETTING_FIELDS } from "./config/fields.ts";
export { configJsonSchema } from "./config/json-schema.ts";
export { nearestName } from "./config/nearest-name.ts";
export { MAX_CONFIG_DEPTH } from "./config/read.ts";
export type {
  CacheRule,
  CompiledConfig,
  CompiledLeaf,
  CompiledNode,
  ConfigProblem,
  Destination,
  HedgeRule,
  HookRule,
  ParamPath,
  RetryRule,
  Timeouts,
} from "./config/types.ts";
export { dropParams, parsePath } from "./drop-params.ts";
export { ERRORS, type ErrorCode, errorBody, GatewayError, toGatewayError, typeOfStatus } from "./errors.ts";
export { headerForCheck, isConnectionHeader, mayReachProvider } from "./forwardable-header.ts";
export { newId, newSpanId, newTraceId, newUuid } from "./ids.ts";
export { boundedJson, boundedJsonOf, bufferOfJson, deeperThan, isObject, type JsonObject, jsonOf, MAX_JSON_DEPTH } from "./json.ts";
export { compilePattern, type LinearPattern } from "./linear-pattern.ts";
export { type ModelAccess, mayUseModel } from "./model-access.ts";
export { paramValue } from "./param-value.ts";
export { parseJsonBody } from "./parse-json-body.ts";
export { chooseByWeight } from "./plan/choose-by-weight.ts";
export { planConfig } from "./plan/plan.ts";
export type {
  Availability,
  BreakerChoice,
  HedgeChoice,
  PlanChoice,
  PlanFacts,
  PlanHedge,
  PlanLeaf,
  PlanNode,
  Planned,
  PlanSequence,
  PlanTargets,
  PlanView,
} from "./plan/types.ts";
export { type CompiledPolicies, matchPolicies, type PolicyMatch, policiesOf } from "./policies/compile.ts";
export { type PolicyContext, policyContext } from "./policies/context.ts";
export { isPolicyKey, POLICY_KEYS } from "./policies/keys.ts";
export type {
  ApiKeyResource,
  ConfigResource,
  GuardrailResource,
  PolicyCondition,
  PolicySetResource,
  ProviderListResource,
  ProviderResource,
  RateLimit,
  RateLimitPolicy,
  WorkspaceResource,
} from "./resources.ts";
export type { RouteDescription } from "./route-description.ts";
export { type Credentials, Secret } from "./secret.ts";
export { type NamedTrace, startTrace, type TraceContext, w3cSpanId, w3cTraceId } from "./trace.ts";
export { completionTokens, emptyUsage, promptTokens, sumUsage, type Usage } from "./usage.ts";
