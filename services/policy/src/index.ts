export type { PolicyDeps } from "./deps.ts";
export { createPolicyService } from "./service.ts";
