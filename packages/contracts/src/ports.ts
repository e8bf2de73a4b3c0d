import type { ServicePort } from "@unigate/rpc";
import type { CacheDefinition } from "./gen/unigate/cache/v1/cache.ts";
import type { ConnectorDefinition } from "./gen/unigate/connector/v1/connector.ts";
import type { ControlDefinition } from "./gen/unigate/control/v1/control.ts";
import type { GuardrailDefinition } from "./gen/unigate/guardrail/v1/guardrail.ts";
import type { LoggingDefinition } from "./gen/unigate/logging/v1/logging.ts";
import type { PolicyDefinition } from "./gen/unigate/policy/v1/policy.ts";
import type { RouterDefinition } from "./gen/unigate/router/v1/router.ts";

export type CachePort = ServicePort<CacheDefinition>;
export type ConnectorPort = ServicePort<ConnectorDefinition>;
export type ControlPort = ServicePort<ControlDefinition>;
export type GuardrailPort = ServicePort<GuardrailDefinition>;
export type LoggingPort = ServicePort<LoggingDefinition>;
export type PolicyPort = ServicePort<PolicyDefinition>;
export type RouterPort = ServicePort<RouterDefinition>;
