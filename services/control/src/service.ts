import type { ApiDescription, ControlPort, Ref, Resolved } from "@unigate/contracts";
import { bufferOfJson } from "@unigate/core";
import { RpcError } from "@unigate/rpc";
import { describeRoutes } from "./api/describe.ts";
import { createManagementApi, type ManagementDeps } from "./api/management-api.ts";
import { apiRoutes } from "./api/routes.ts";
import type { ControlDeps, ControlStore } from "./store.ts";

/** What the management API needs beside the store. */
export type ServiceDeps = Pick<ControlDeps, "catalogue" | "checkConfig" | "checks" | "sealer" | "clock" | "log"> &
  Pick<ManagementDeps, "requestsPerMinute">;

const MAX_REFS = 1_000;
const NOTHING = Buffer.alloc(0);

/** control: Resolve and Watch over what the store knows, and the management API that changes what is saved. */
export function createControlService(store: Pick<ControlStore, "find" | "hub" | "snapshot" | "saved">, deps: ServiceDeps): ControlPort {
  const manage = createManagementApi({ ...deps, saved: store.saved, snapshot: () => store.snapshot() }, (cause) => {
    deps.log.error({ error: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause) }, "a management request failed");
  });
  // Made when it is asked for: it takes a tenth of the start's time.
  let description: ApiDescription | null = null;
  return {
    async resolve({ refs }) {
      if (refs.length > MAX_REFS) throw new RpcError("INVALID_ARGUMENT", `at most ${MAX_REFS} refs a call`);
      const seq = store.hub.seq();
      return { items: refs.map((ref) => resolved(ref, store.find(ref), seq)) };
    },
    watch: (request, call) => store.hub.watch(request, call.cancel),
    handle: (request) => manage(request),
    describe: async () => (description ??= { routesJson: bufferOfJson(describeRoutes(apiRoutes)) }),
  };
}

function resolved(ref: Ref, item: { json: Buffer; sealed: Resolved["sealed"]; version: string } | undefined, changeSeq: number): Resolved {
  if (item === undefined) return { ref, json: NOTHING, sealed: undefined, version: "", changeSeq, missing: true };
  return { ref, json: item.json, sealed: item.sealed, version: item.version, changeSeq, missing: false };
}
