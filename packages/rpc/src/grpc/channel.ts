import type { Client } from "@grpc/grpc-js";
import type { Call } from "@unigate/core";
import type { CallInterceptor } from "../mesh-token.ts";
import { maxMessageBytes, type RpcLimits } from "../message-size.ts";
import { type Method, methodsOf } from "../method.ts";
import type { ServiceDefinition, ServicePort } from "../types.ts";
import { channelCredentials, type MeshCertificates } from "./certificates.ts";
import { streamAnswers } from "./client-stream.ts";
import { answerToStream, unary } from "./client-unary.ts";
import { grpcJs } from "./grpc-js.ts";
import type { Link } from "./link.ts";
import { channelOptions, requestStreamOptions } from "./options.ts";

export interface ChannelOptions extends RpcLimits {
  /** "host:port", "dns:///host:port" or "unix:/path". A name with several addresses is used in turn, call by call. */
  readonly address: string;
  readonly certificates?: MeshCertificates;
  /** Adds metadata to each call, such as the mesh token. */
  readonly interceptor?: CallInterceptor;
}

/** The connections to one address, for all services that are there. */
export interface RpcChannel {
  /**
   * The port of a service at the address. Never retries and waits for no server: a call fails with UNAVAILABLE when
   * there is no connection and none can be made. An error overtakes answers that were not yet asked for.
   */
  port<D extends ServiceDefinition>(definition: D): ServicePort<D>;
  /** Connects. True once there is a connection, false when there is none after `ms`. */
  ready(ms: number): Promise<boolean>;
  /** Later calls fail with UNAVAILABLE; running ones go on. */
  close(): void;
}

/** Opens a channel; it connects at the first call or `ready`. */
export function openChannel(options: ChannelOptions): RpcChannel {
  const { Client } = grpcJs();
  const credentials = channelCredentials(options.certificates);
  const client = new Client(options.address, credentials, channelOptions(options));
  const requestStreams = new Client(options.address, credentials, requestStreamOptions(options));
  const links: Links = { plain: linkOver(client, options), requestStreams: linkOver(requestStreams, options) };
  return {
    port: (definition) => portOver(links, definition),
    ready: (ms) =>
      new Promise((resolve) => {
        client.waitForReady(Date.now() + ms, (error) => resolve(error === undefined));
      }),
    close() {
      client.close();
      requestStreams.close();
    },
  };
}

interface Links {
  readonly plain: Link;
  readonly requestStreams: Link;
}

function linkOver(client: Client, options: ChannelOptions): Link {
  return {
    address: options.address,
    channel: client.getChannel(),
    Headers: grpcJs().Metadata,
    interceptor: options.interceptor,
    maxBytes: maxMessageBytes(options),
  };
}

function portOver<D extends ServiceDefinition>(links: Links, definition: D): ServicePort<D> {
  const port: Record<string, unknown> = {};
  for (const method of methodsOf(definition)) {
    port[method.key] = remoteMethod(method.requestStream ? links.requestStreams : links.plain, method);
  }
  return port as ServicePort<D>;
}

function remoteMethod(link: Link, method: Method): unknown {
  if (method.responseStream) return (request: unknown, call: Call) => streamAnswers(link, method, request, call);
  if (method.requestStream) return (request: unknown, call: Call) => answerToStream(link, method, request as AsyncIterable<unknown>, call);
  return (request: unknown, call: Call) => unary(link, method, request, call);
}
