export type { GuardrailDeps } from "./deps.ts";
export { createGuardrailService } from "./service.ts";
