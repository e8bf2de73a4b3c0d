import type { Metadata, ServerInterceptingCallInterface } from "@grpc/grpc-js";
import type { Peer } from "../mesh-token.ts";

/** A caller by the metadata that it sent, its connection and the services that its certificate is for. */
export function peerOf(
  metadata: Metadata,
  transport: Pick<ServerInterceptingCallInterface, "getPeer">,
  services: readonly string[] | null,
): Peer {
  return { header: (name) => textOf(metadata, name), address: () => transport.getPeer(), services };
}

function textOf(metadata: Metadata, name: string): string | undefined {
  const values = metadata.get(name);
  return values.length === 1 && typeof values[0] === "string" ? values[0] : undefined;
}
