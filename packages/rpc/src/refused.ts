import type { RpcError } from "./errors.ts";
import type { Peer } from "./mesh-token.ts";

/** Why a connection was refused, or, the last two, a call. */
export type RefusedReason =
  | "no_tls"
  | "handshake"
  | "no_certificate"
  | "expired"
  | "not_yet_valid"
  | "not_trusted"
  | "no_name"
  | "caller"
  | "token";

/** A connection or a call that a server refused. */
export interface Refused {
  readonly reason: RefusedReason;
  /** "10.0.0.7:41234"; "unknown" when the peer was gone before it could be asked. */
  readonly address: string;
  /** What is wrong, in words that hold no secret. */
  readonly text: string;
}

export type OnRefused = (refused: Refused) => void;

/** A call that `authenticate` refused. */
export function refusedCall(peer: Peer, error: RpcError): Refused {
  return { reason: error.code === "PERMISSION_DENIED" ? "caller" : "token", address: peer.address(), text: error.message };
}
