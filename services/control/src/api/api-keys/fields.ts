import { z } from "zod";
import { keyRules } from "../../declared/grammar.ts";
import { name, note, notYet } from "../fields.ts";

/** What a key is made with and may be changed in. */
export const keyFields = {
  name,
  scopes: z.array(z.string()).min(1),
  description: note.optional(),
  ...keyRules,
  usage_limits: notYet("usage limits"),
  alert_emails: notYet("alert mails"),
  rotation_policy: notYet("rotation policies"),
};
