import { backgroundCall, GatewayError, jsonOf, type RouteDescription } from "@unigate/core";
import { isRpcError } from "@unigate/rpc";
import type { EdgeDeps } from "../deps.ts";
import { openApi } from "../openapi.ts";

/** A control that was updated is asked anew within this time, ms. */
const FRESH_MS = 60_000;
const DEADLINE_MS = 5_000;

interface DescriptionDeps extends Pick<EdgeDeps, "clock"> {
  readonly control: Pick<EdgeDeps["control"], "describe">;
  readonly log: Pick<EdgeDeps["log"], "warn">;
}

/**
 * The text of /openapi.json. Control says what its part is; while it does not answer, what it said last is told.
 * Rejects with service_unavailable when it never did.
 */
export function createApiDescription(deps: DescriptionDeps, version: string): () => Promise<string> {
  let known: { readonly text: string; readonly until: number } | null = null;
  let asking: Promise<string> | null = null;

  async function ask(): Promise<string> {
    const { routesJson } = await deps.control.describe({}, backgroundCall(deps.clock.now() + DEADLINE_MS));
    const text = JSON.stringify(openApi(version, jsonOf(routesJson) as RouteDescription[]));
    known = { text, until: deps.clock.now() + FRESH_MS };
    return text;
  }

  async function askOrRemember(): Promise<string> {
    try {
      return await ask();
    } catch (error) {
      if (!isRpcError(error)) throw error;
      deps.log.warn({ service: "control", error: String(error) }, "the management API could not be described");
      if (known !== null) return known.text;
      throw new GatewayError("service_unavailable", 'The service "control" does not answer right now; try again shortly.', {
        cause: error,
      });
    } finally {
      asking = null;
    }
  }

  return async () => {
    if (known !== null && deps.clock.now() < known.until) return known.text;
    asking ??= askOrRemember();
    return asking;
  };
}
