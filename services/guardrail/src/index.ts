export type { GuardrailDeps } from "./deps.ts";
export { createPost } from "./post.ts";
export { createGuardrailService } from "./service.ts";
