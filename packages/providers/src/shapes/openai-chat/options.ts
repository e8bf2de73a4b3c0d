import type { JsonObject } from "@unigate/core";

/** How a vendor's chat endpoint differs from OpenAI's. Everything that is not named here passes as it is. */
export interface OpenAiChatOptions {
  /** Appended to the base URL. Default "/chat/completions". */
  readonly path?: string;
  /** Body fields the vendor calls otherwise: `{ seed: "random_seed" }`. The vendor's own name wins when both are there. */
  readonly rename?: Readonly<Record<string, string>>;
  /** Body fields the vendor refuses. */
  readonly drop?: readonly string[];
  /**
   * Usage of streams: by `stream_options.include_usage` ("option", default), without asking ("always"), not at all ("never").
   */
  readonly streamUsage?: "option" | "always" | "never";
  /** What ends a stream: `[DONE]` ("done", default), or the finish reason and the close ("finish"). */
  readonly terminal?: "done" | "finish";
  /** The vendor's finish reasons beyond the usual ones; an unknown one becomes "stop". */
  readonly finish?: Readonly<Record<string, string>>;
  /** Values of a `tool_choice` text: `{ required: "any" }`. */
  readonly toolChoice?: Readonly<Record<string, string>>;
  /** The vendor knows no role "developer": send "system". */
  readonly developerAsSystem?: boolean;
  /** Any further change of the body. Returns the same object when nothing changes; never changes its argument. */
  readonly prepare?: (json: JsonObject) => JsonObject;
  /** Settings that become request headers: `{ provider_project: "openai-project" }`. */
  readonly settingHeaders?: Readonly<Record<string, string>>;
  /** Client headers that are passed on (lower case). */
  readonly passHeaders?: readonly string[];
}
