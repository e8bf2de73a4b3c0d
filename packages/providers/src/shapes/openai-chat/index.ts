export { readOpenAiError, unreadableEvent } from "./errors.ts";
export { openAiChat } from "./surface.ts";
export { openAiVendor } from "./vendor.ts";
