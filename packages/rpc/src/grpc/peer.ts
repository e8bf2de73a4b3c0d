import type { Metadata } from "@grpc/grpc-js";
import type { Peer } from "../mesh-token.ts";

/** A caller by the metadata that it sent. */
export function peerOf(metadata: Metadata): Peer {
  return { header: (name) => textOf(metadata, name) };
}

function textOf(metadata: Metadata, name: string): string | undefined {
  const values = metadata.get(name);
  return values.length === 1 && typeof values[0] === "string" ? values[0] : undefined;
}
