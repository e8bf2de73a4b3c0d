/** One line of the error table. `type` is the word of the public envelope; by status when absent. */
interface ErrorSpec {
  readonly status: number;
  readonly type?: string;
  readonly text: string;
}

/**
 * Every error that the gateway makes itself (behaviour section 5, DESIGN 8.7). A provider's own error keeps its
 * status and words. `code` of the public envelope is the key.
 */
export const ERRORS = {
  invalid_json: { status: 400, text: "The request body is not valid JSON." },
  invalid_request: { status: 400, text: "The request is invalid." },
  invalid_content_type: { status: 400, text: "The content type is not supported on this endpoint." },
  invalid_metadata: { status: 400, text: "x-gateway-metadata must be a flat JSON object of strings." },
  invalid_header: { status: 400, text: "A request header is invalid." },
  invalid_config: { status: 400, text: "The config is invalid." },
  unknown_config: { status: 400, text: "There is no saved config with this id." },
  config_override_forbidden: { status: 400, text: "The default config of this API key cannot be overridden; send no config header." },
  provider_required: { status: 400, text: "No provider was named." },
  unknown_provider: { status: 400, text: "There is no such provider." },
  unknown_deployment: { status: 400, text: "No deployment stands for the model, and none is the default." },
  unknown_guardrail: { status: 400, text: "There is no saved guardrail with this id." },
  credential_required: { status: 400, text: "The provider needs a credential." },
  invalid_custom_host: { status: 400, text: "The custom host is not allowed." },
  endpoint_not_supported: { status: 400, text: "The provider does not support this endpoint." },
  prompt_not_supported: { status: 400, text: "Saved prompts are not available yet." },
  no_target: { status: 400, text: "No target of the config can be used." },
  missing_key: { status: 401, type: "authentication_error", text: "No gateway API key was sent." },
  invalid_key: { status: 401, type: "authentication_error", text: "The gateway API key is not valid." },
  key_expired: { status: 401, type: "authentication_error", text: "The gateway API key has expired." },
  scope_missing: { status: 403, type: "permission_error", text: "The API key lacks a scope that this needs." },
  not_found: { status: 404, type: "not_found_error", text: "There is nothing at this path." },
  not_available: { status: 404, type: "not_found_error", text: "This endpoint is reserved and not available yet." },
  method_not_allowed: { status: 405, type: "invalid_request_error", text: "This method is not allowed here." },
  conflict: { status: 409, type: "conflict_error", text: "This does not go with what is there now." },
  request_timeout: { status: 408, type: "timeout_error", text: "The request exceeded its timeout." },
  budget_exhausted: { status: 412, type: "usage_limits_policy_exhaust_error", text: "A usage limit is used up." },
  model_not_allowed: { status: 412, type: "model_not_allowed_error", text: "This model is not allowed for the API key or provider." },
  provider_not_allowed: { status: 412, type: "model_not_allowed_error", text: "This provider is not allowed for the API key." },
  body_too_large: { status: 413, type: "request_too_large", text: "The request body is too large." },
  rate_limited: { status: 429, type: "api_key_rate_limit_error", text: "A rate limit is reached." },
  headers_too_large: { status: 431, type: "invalid_request_error", text: "The request headers are too large." },
  hooks_failed: { status: 446, type: "hooks_failed", text: "The guardrail checks failed." },
  client_closed: { status: 499, type: "client_closed", text: "The client closed the connection." },
  internal: { status: 500, text: "Something went wrong inside the gateway." },
  upstream_unreachable: { status: 502, text: "The provider could not be reached." },
  upstream_invalid: { status: 502, text: "The provider's answer could not be read." },
  upstream_incomplete: { status: 502, text: "The provider's stream ended before it was complete." },
  upstream_idle: { status: 504, type: "timeout_error", text: "The provider's stream stopped sending." },
  upstream_timeout: { status: 504, type: "timeout_error", text: "The provider did not answer in time." },
  upstream_connect_timeout: { status: 504, type: "timeout_error", text: "The connection to the provider was not made in time." },
  overloaded: { status: 503, type: "overloaded_error", text: "The gateway is at its limit; try again shortly." },
  identity_unavailable: { status: 503, text: "The API key cannot be checked right now." },
  service_unavailable: { status: 503, text: "A service of the gateway is unavailable." },
  server_shutting_down: { status: 503, text: "The gateway is shutting down." },
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof ERRORS;

/** The public error type that goes with a status when nothing more exact is known (providers.md section 12). */
export function typeOfStatus(status: number): string {
  switch (status) {
    case 401:
      return "authentication_error";
    case 402:
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 408:
    case 504:
      return "timeout_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

interface ErrorDetail {
  readonly param?: string;
  readonly cause?: unknown;
  readonly type?: string;
  readonly status?: number;
  readonly retryAfterMs?: number;
}

/** An error with a line in the table. Its message may be shown to the client; its cause never is. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  readonly retryAfterMs: number | null;

  constructor(code: ErrorCode, message: string = ERRORS[code].text, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    const spec: ErrorSpec = ERRORS[code];
    this.code = code;
    this.status = detail.status ?? spec.status;
    this.type = detail.type ?? spec.type ?? typeOfStatus(this.status);
    this.param = detail.param ?? null;
    this.retryAfterMs = detail.retryAfterMs ?? null;
  }
}

/** Any thrown thing as a GatewayError: `internal`, with the thing kept as its cause, unless it is one already. */
export function toGatewayError(reason: unknown): GatewayError {
  return reason instanceof GatewayError ? reason : new GatewayError("internal", undefined, { cause: reason });
}

/** The public envelope of an error (DESIGN section 1). */
export function errorBody(error: { message: string; type: string; param: string | null; code: string | null }): {
  error: { message: string; type: string; param: string | null; code: string | null };
} {
  return { error: { message: error.message, type: error.type, param: error.param, code: error.code } };
}
