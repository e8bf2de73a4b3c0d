export { inbandError, readOpenAiError, unreadableEvent } from "./errors.ts";
export type { OpenAiChatOptions } from "./options.ts";
export { openAiChat } from "./surface.ts";
export { type OpenAiVendor, openAiVendor } from "./vendor.ts";
