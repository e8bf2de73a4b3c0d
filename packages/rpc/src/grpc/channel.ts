import type { Client } from "@grpc/grpc-js";
import type { Call } from "@unigate/core";
import type { CallInterceptor } from "../mesh-token.ts";
import { maxMessageBytes, type RpcLimits } from "../message-size.ts";
import { type Method, methodsOf } from "../method.ts";
import { SharedStreams } from "../shared-stream/shared-streams.ts";
import type { ServiceDefinition, ServicePort } from "../types.ts";
import { type ChannelCertificates, channelCredentials } from "./certificates.ts";
import { streamAnswers } from "./client-stream.ts";
import { answerToStream, plainUnary, unary } from "./client-unary.ts";
import { grpcJs } from "./grpc-js.ts";
import type { KeepaliveOptions } from "./keepalive-options.ts";
import type { Link } from "./link.ts";
import { channelOptions, requestStreamOptions } from "./options.ts";

export interface ChannelOptions extends RpcLimits, KeepaliveOptions {
  /** "host:port", "dns:///host:port" or "unix:/path". A name with several addresses is used in turn, call by call. */
  readonly address: string;
  readonly certificates?: ChannelCertificates;
  /** Adds metadata to each call, such as the mesh token. */
  readonly interceptor?: CallInterceptor;
  /** Whether small unary calls share long-lived streams where the server offers that; default true. */
  readonly shareStreams?: boolean;
  /** How long a shared stream is used, in ms, a fifth more or less; default 60,000. New replicas get their share then. */
  readonly streamAgeMs?: number;
}

/** The connections to one address, for all services that are there. */
export interface RpcChannel {
  /**
   * The port of a service at the address. Never retries and waits for no server: a call fails with UNAVAILABLE when
   * there is no connection and none can be made. An error overtakes answers that were not yet asked for.
   */
  port<D extends ServiceDefinition>(definition: D): ServicePort<D>;
  /** Connects, and opens a shared stream if it can be had. True once there is a connection, false when there is none after `ms`. */
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
  const plain = linkOver(client, options);
  const shared =
    options.shareStreams === false ? null : new SharedStreams(plain, (...args) => plainUnary(plain, ...args), options.streamAgeMs);
  const links: Links = { plain, shared, requestStreams: linkOver(requestStreams, options) };
  return {
    port: (definition) => portOver(links, definition),
    async ready(ms) {
      const deadline = Date.now() + ms;
      const connected = await new Promise<boolean>((resolve) => {
        client.waitForReady(deadline, (error) => resolve(error === undefined));
      });
      if (connected && shared !== null) await orAt(deadline, shared.settled());
      return connected;
    },
    close() {
      shared?.close();
      client.close();
      requestStreams.close();
    },
  };
}

interface Links {
  readonly plain: Link;
  readonly shared: SharedStreams | null;
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
    port[method.key] = remoteMethod(links, method);
  }
  return port as ServicePort<D>;
}

function remoteMethod({ plain, shared, requestStreams }: Links, method: Method): unknown {
  const link = method.requestStream ? requestStreams : plain;
  if (method.responseStream) return (request: unknown, call: Call) => streamAnswers(link, method, request, call);
  if (method.requestStream) return (request: unknown, call: Call) => answerToStream(link, method, request as AsyncIterable<unknown>, call);
  return (request: unknown, call: Call) => unary(link, shared, method, request, call);
}

/** Resolves with the work, or at the deadline (Unix ms). */
async function orAt(deadline: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, deadline - Date.now());
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
