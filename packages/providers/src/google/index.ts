import { headerKey } from "../auth/index.ts";
import { defineProvider } from "../define.ts";
import { readGoogleError } from "./errors.ts";
import { generateContentChat } from "./surface.ts";

export default defineProvider({
  id: "google",
  aliases: ["gemini"],
  title: "Google Gemini",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  auth: headerKey("x-goog-api-key"),
  surfaces: { chat: generateContentChat("google") },
  readError: (status, body) => readGoogleError(status, body, "google"),
  models: [
    "gemini-3.1-pro-preview",
    "gemini-3-pro-preview",
    "gemini-3.5-flash",
    "gemini-3-flash-preview",
    "gemini-3.1-flash-lite",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
  ],
  envKey: "GEMINI_API_KEY",
});
