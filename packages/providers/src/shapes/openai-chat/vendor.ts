import { bearer } from "../../auth/index.ts";
import { type Auth, defineProvider, type Provider } from "../../define.ts";
import { readOpenAiError } from "./errors.ts";
import type { OpenAiChatOptions } from "./options.ts";
import { openAiChat } from "./surface.ts";

/** A provider whose whole surface is OpenAI's, as data. */
export interface OpenAiVendor {
  readonly id: string;
  readonly title: string;
  readonly aliases?: readonly string[];
  readonly baseUrl: string;
  /** Default: `authorization: Bearer <api_key>`. */
  readonly auth?: Auth;
  readonly keyless?: boolean;
  readonly envKey: string | null;
  readonly models: readonly string[];
  readonly chat?: OpenAiChatOptions;
}

/** The provider of an OpenAI-shaped vendor. */
export function openAiVendor(vendor: OpenAiVendor): Provider {
  return defineProvider({
    id: vendor.id,
    aliases: vendor.aliases ?? [],
    title: vendor.title,
    baseUrl: vendor.baseUrl,
    keyless: vendor.keyless ?? false,
    auth: vendor.auth ?? bearer(),
    surfaces: { chat: openAiChat(vendor.id, vendor.chat) },
    readError: (status, body) => readOpenAiError(vendor.id, status, body),
    models: vendor.models,
    envKey: vendor.envKey,
  });
}
