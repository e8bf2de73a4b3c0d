import { hashOfKey, makeGatewayKey } from "@unigate/secrets";
import { z } from "zod";
import { endpoint } from "../asked.ts";
import { requireAllScopes } from "../caller.ts";
import { anyQuery, isoTime } from "../fields.ts";
import { changeableOf } from "../things.ts";
import { nextRow, write } from "../write.ts";
import { rotatedKeyAnswer } from "./answers.ts";
import { keyOf, requireKeyRight } from "./key-rights.ts";
import { maskKey } from "./mask-key.ts";

/** Spec section 8. */
const SHORTEST_TRANSITION_MS = 1_800_000;
const LONGEST_TRANSITION_MS = 365 * 24 * 3_600_000;

const body = z.strictObject({ key_transition_period_ms: z.int().min(SHORTEST_TRANSITION_MS).max(LONGEST_TRANSITION_MS).optional() });

/** POST /api-keys/{id}/rotate: another text for the same key. Until the transition ends, the text before it works too. */
export const rotateKey = endpoint(
  { summary: "Give an API key another text", body, query: anyQuery, answer: rotatedKeyAnswer },
  async (asked) => {
    const row = changeableOf(asked, "api_key", asked.parameters["id"] ?? "");
    requireKeyRight(asked, row, "rotate");
    const before = keyOf(row);
    requireAllScopes(asked.caller, before.scopes, "who gets a key's text can do what the key can");
    const text = makeGatewayKey();
    const hash = hashOfKey(text).toString("hex");
    const endsAt = asked.api.clock.now() + (asked.body.key_transition_period_ms ?? SHORTEST_TRANSITION_MS);
    const next = nextRow(asked, row, {
      resource: { ...before, key_sha256: hash },
      details: { ...row.details, masked: maskKey(text), transition_ends_at: endsAt },
      keyHashes: [hash, before.key_sha256],
    });
    await write(asked.api, [{ put: next }]);
    return { id: row.id, key: text, key_transition_expires_at: isoTime(endsAt) };
  },
);
