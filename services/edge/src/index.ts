export type { EdgeLimits, EdgeParts } from "./deps.ts";
export { type Edge, startEdge } from "./edge.ts";
export { openApi } from "./openapi.ts";
export { routes } from "./routes.ts";
