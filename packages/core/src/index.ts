export { backgroundCall, type BoundedCall, boundCall, type Call } from "./call.ts";
export { type CancelReason, CancelToken, sleep, toAbortSignal } from "./cancel.ts";
export { ERRORS, type ErrorCode, errorBody, GatewayError, toGatewayError, typeOfStatus } from "./errors.ts";
export { bufferOfJson, isObject, type JsonObject, jsonOf, MAX_JSON_DEPTH } from "./json.ts";
export { type Credentials, Secret } from "./secret.ts";
export { completionTokens, emptyUsage, promptTokens, type Usage } from "./usage.ts";
