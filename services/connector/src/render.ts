import type { Header, InvokeRequest, RenderReply } from "@unigate/contracts";
import { GatewayError } from "@unigate/core";
import type { ConnectorDeps } from "./deps.ts";
import { MASK } from "./mask-secrets.ts";
import { gatewayFailure } from "./outcome.ts";
import { build, sign } from "./prepare.ts";

const EMPTY = Buffer.alloc(0);

/**
 * The request as it would be sent. Every header that signing writes is masked whole, and the credential wherever else
 * it stands. What cannot be prepared is a value too.
 */
export async function render(deps: ConnectorDeps, request: InvokeRequest): Promise<RenderReply> {
  try {
    const built = build(deps, request, false);
    const unsigned = { ...built.request.headers };
    const prepared = await sign(deps, built);
    const { method, headers, body } = prepared.request;
    const mask = prepared.mask();
    const shown: Header[] = [];
    for (const name in headers) {
      const value = headers[name] ?? "";
      shown.push({ name, value: value === unsigned[name] ? mask.text(value) : MASK });
    }
    const url = mask.text(`${prepared.destination.origin}${prepared.destination.path}`);
    return { method, url, headers: shown, body: body === null ? EMPTY : mask.body(body), failure: undefined };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { failure } = gatewayFailure(error.code, request.target?.provider ?? "", { message: error.message }).head;
    return { method: "", url: "", headers: [], body: EMPTY, failure };
  }
}
