export { createRouterService, type RouterDeps, type RouterService, type RouterStatistics, TICK_MS } from "./service.ts";
