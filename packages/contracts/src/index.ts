export {
  AnyValue,
  ExportTraceServiceRequest,
  ExportTraceServiceResponse,
  KeyValue,
  Span,
  SpanKind,
  StatusCode,
} from "./gen/opentelemetry/proto/trace/v1/trace.ts";
export { CacheDefinition, Entry, LookupReply, LookupRequest, StoreRequest } from "./gen/unigate/cache/v1/cache.ts";
export { Empty, Facts, Failure, Header, Sealed, Tenant, Usage } from "./gen/unigate/common/v1/common.ts";
export {
  Blame,
  Chunk,
  ConnectorDefinition,
  Delta,
  End,
  Head,
  InvokeReply,
  InvokeRequest,
  RenderReply,
  ReplyPart,
  RequestPart,
  Target,
  Timeouts,
  Want,
} from "./gen/unigate/connector/v1/connector.ts";
export {
  AdminReply,
  AdminRequest,
  ApiDescription,
  Change,
  ControlDefinition,
  Ref,
  Resolved,
  ResolveReply,
  ResolveRequest,
  WatchRequest,
} from "./gen/unigate/control/v1/control.ts";
export { CheckReply, CheckRequest, GuardrailDefinition, HookRef } from "./gen/unigate/guardrail/v1/guardrail.ts";
export { AppendAck, AppendBatch, JsonReply, LoggingDefinition, LogQuery, LogRef } from "./gen/unigate/logging/v1/logging.ts";
export {
  PolicyDefinition,
  Remaining,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  Settlement,
  SettleRequest,
  Subject,
  Verdict,
} from "./gen/unigate/policy/v1/policy.ts";
export {
  AttemptOutcome,
  Breaker,
  BreakersReply,
  BreakersRequest,
  Hedge,
  InFlight,
  Leaf,
  PlanNode,
  PlanReply,
  PlanRequest,
  ReportRequest,
  RouterDefinition,
  Sequence,
  TargetPrice,
} from "./gen/unigate/router/v1/router.ts";
export { AnswerBatch, CallBatch, CallsDefinition } from "./gen/unigate/rpc/v1/rpc.ts";
export type * from "./ports.ts";
