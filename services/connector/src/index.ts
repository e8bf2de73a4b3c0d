export { createBaseUrls } from "./base-url.ts";
export type { ConnectorDeps } from "./deps.ts";
export { createConnectorService } from "./service.ts";
