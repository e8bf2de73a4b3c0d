import type { ConnectorPort } from "@unigate/contracts";
import type { ConnectorDeps } from "./deps.ts";
import { exchangeUpload } from "./exchange-upload.ts";
import { invoke } from "./invoke.ts";
import { invokeStream } from "./invoke-stream.ts";
import { render } from "./render.ts";

/** One upstream exchange a call: transform, sign, send, read, transform back. Holds no state but connections. */
export function createConnectorService(deps: ConnectorDeps): ConnectorPort {
  return {
    invoke: (request, call) => invoke(deps, request, call),
    invokeStream: (request, call) => invokeStream(deps, request, call),
    exchange: (parts, call) => exchangeUpload(deps, parts, call),
    render: (request) => render(deps, request),
  };
}
