import { timingSafeEqual } from "node:crypto";
import type { Secret } from "@unigate/core";
import { RpcError } from "./errors.ts";

/** What a server may know of the process that calls it. */
export interface Peer {
  /** The metadata of this name, lower case; undefined unless it was sent exactly once. */
  header(name: string): string | undefined;
  /** "10.0.0.7:41234". */
  address(): string;
  /** The services that its certificate is for, at least one; null when the server asks for no certificates. */
  readonly services: readonly string[] | null;
}

/** Decides on a call before any of its messages is read: an error refuses it, null lets it in. `method` is "/package.Service/Method". */
export type Authenticate = (peer: Peer, method: string) => RpcError | null;

/**
 * Adds to the metadata of a call that is about to be sent. `method` is "/package.Service/Method". Calls that share a
 * stream have its metadata, which are asked for once, for "/unigate.rpc.v1.Calls/Open".
 */
export type CallInterceptor = (headers: { set(name: string, value: string): void }, method: string) => void;

/** The one token that all services of a mesh share, for both sides of a call. */
export interface MeshToken {
  readonly interceptor: CallInterceptor;
  readonly authenticate: Authenticate;
}

const SENDABLE = /^[\x21-\x7e]+$/;

/**
 * Access to a mesh without certificates: `authorization: Bearer <token>`, compared in constant time.
 * @throws Error when the token is empty or has characters that a header cannot carry.
 */
export function meshToken(token: Secret): MeshToken {
  if (!SENDABLE.test(token.reveal())) {
    throw new Error("The mesh token must be printable ASCII without spaces, at least one character.");
  }
  const sent = `Bearer ${token.reveal()}`;
  const expected = Buffer.from(sent);
  return {
    interceptor: (headers) => headers.set("authorization", sent),
    authenticate: (peer) => (sameBytes(expected, peer.header("authorization")) ? null : refused()),
  };
}

function sameBytes(expected: Buffer, text: string | undefined): boolean {
  if (text === undefined) return false;
  const given = Buffer.from(text);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function refused(): RpcError {
  return new RpcError("UNAUTHENTICATED", "The mesh token is missing or wrong. Every service of a mesh needs the same one.");
}
