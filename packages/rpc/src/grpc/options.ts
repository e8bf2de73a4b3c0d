import type { ChannelOptions } from "@grpc/grpc-js";
import { maxMessageBytes, type RpcLimits } from "../message-size.ts";
import { USER_AGENT } from "./end-mark.ts";
import type { KeepaliveOptions } from "./keepalive-options.ts";

const KEEPALIVE_MS = 30_000;
const KEEPALIVE_TIMEOUT_MS = 10_000;
/** Clients look addresses up again only when a connection ends, so it must end for new replicas to get traffic. */
const CONNECTION_AGE_MS = 120_000;
/** The longest stream must fit, else it is cut. */
const DEFAULT_REQUEST_MS = 900_000;
const BETWEEN_RESOLUTIONS_MS = 5_000;
const FIRST_RECONNECT_MS = 250;
/** grpc-js waits up to two minutes; a service that is back must be found sooner. */
const LONGEST_RECONNECT_MS = 5_000;
/** What may be sent again of a stream of requests that no server has begun on. */
const REQUESTS_KEPT_BYTES = 32 * 1024;

type ConnectionLimits = RpcLimits & KeepaliveOptions;

type ServerLimits = ConnectionLimits & { readonly maxRequestMs?: number; readonly connectionAgeMs?: number };

export function serverOptions(limits: ServerLimits): ChannelOptions {
  return {
    ...commonOptions(limits),
    "grpc.max_connection_age_ms": limits.connectionAgeMs ?? CONNECTION_AGE_MS,
    "grpc.max_connection_age_grace_ms": limits.maxRequestMs ?? DEFAULT_REQUEST_MS,
  };
}

type ChannelLimits = ConnectionLimits & { readonly certificates?: { readonly service: string } };

/** No retry policy: who retries is decided above. A call that no server has begun is still sent again, which is safe. */
export function channelOptions(limits: ChannelLimits): ChannelOptions {
  return {
    ...commonOptions(limits),
    "grpc.primary_user_agent": USER_AGENT,
    "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
    "grpc.service_config_disable_resolution": 1,
    "grpc.dns_min_time_between_resolutions_ms": BETWEEN_RESOLUTIONS_MS,
    "grpc.initial_reconnect_backoff_ms": FIRST_RECONNECT_MS,
    "grpc.max_reconnect_backoff_ms": LONGEST_RECONNECT_MS,
    "grpc.keepalive_permit_without_calls": 1,
    // The proxy variables of the environment are for providers; services talk to each other directly.
    "grpc.enable_http_proxy": 0,
    // TLS names a host, which an address may not be; nobody looks at the name.
    ...(limits.certificates === undefined ? {} : { "grpc.ssl_target_name_override": limits.certificates.service }),
  };
}

/**
 * For calls with a stream of requests, which get a channel of their own: what grpc-js keeps of a call to send again it
 * takes at once, however full the peer's window is, and lets go in quadratic time. 1 MiB of it, the default, would be
 * no backpressure for small messages.
 */
export function requestStreamOptions(limits: ChannelLimits): ChannelOptions {
  return { ...channelOptions(limits), "grpc.per_rpc_retry_buffer_size": REQUESTS_KEPT_BYTES };
}

function commonOptions(limits: ConnectionLimits): ChannelOptions {
  return {
    "grpc.max_receive_message_length": maxMessageBytes(limits),
    "grpc.max_send_message_length": maxMessageBytes(limits),
    "grpc.keepalive_time_ms": limits.keepaliveMs ?? KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
    "grpc.enable_channelz": 0,
  };
}
