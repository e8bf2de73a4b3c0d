export { createRouterService, type RouterDeps } from "./service.ts";
