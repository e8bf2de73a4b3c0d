export type { CheckConfig } from "./configs.ts";
export { DeclaredError, type Problem, problemText } from "./declared/problem.ts";
export type { CatalogueCheck, CheckCatalogue } from "./guardrails.ts";
export type { FirstKeys } from "./key-file.ts";
export { checkDeclared, type LoadDeps } from "./load.ts";
export type { CatalogueProvider } from "./providers.ts";
export { createControlService } from "./service.ts";
export { type ControlDeps, type ControlStore, openControlStore } from "./store.ts";
export type { OrganisationResource, WorkspaceResource } from "./tenants.ts";
