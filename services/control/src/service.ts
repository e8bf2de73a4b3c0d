import type { AdminReply, AdminRequest, ControlPort, Ref, Resolved } from "@unigate/contracts";
import { ERRORS, errorBody, GatewayError } from "@unigate/core";
import { RpcError } from "@unigate/rpc";
import type { ControlStore } from "./store.ts";

const MAX_REFS = 1_000;
const NOTHING = Buffer.alloc(0);

/** control: Resolve and Watch over what the store knows, and the management API that changes what is saved. */
export function createControlService(
  store: Pick<ControlStore, "find" | "hub">,
  manage: ((request: AdminRequest) => Promise<AdminReply>) | null = null,
): ControlPort {
  return {
    async resolve({ refs }) {
      if (refs.length > MAX_REFS) throw new RpcError("INVALID_ARGUMENT", `at most ${MAX_REFS} refs a call`);
      const seq = store.hub.seq();
      return { items: refs.map((ref) => resolved(ref, store.find(ref), seq)) };
    },
    watch: (request, call) => store.hub.watch(request, call.cancel),
    handle: async (request) => manage?.(request) ?? notAvailable(),
  };
}

function resolved(ref: Ref, item: { json: Buffer; sealed: Resolved["sealed"]; version: string } | undefined, changeSeq: number): Resolved {
  if (item === undefined) return { ref, json: NOTHING, sealed: undefined, version: "", changeSeq, missing: true };
  return { ref, json: item.json, sealed: item.sealed, version: item.version, changeSeq, missing: false };
}

function notAvailable(): AdminReply {
  return {
    status: ERRORS.not_available.status,
    headers: [{ name: "content-type", value: "application/json" }],
    body: Buffer.from(JSON.stringify(errorBody(new GatewayError("not_available")))),
  };
}
