import type { Auth } from "../define.ts";
import { headerValue } from "./header-value.ts";

/** `authorization: Bearer <field>`; nothing when the field is absent. */
export function bearer(field = "api_key"): Auth {
  return {
    fields: [field],
    apply(request, credentials) {
      const secret = credentials[field];
      if (secret !== undefined) request.headers["authorization"] = `Bearer ${headerValue(secret, field)}`;
    },
  };
}

/** The credential alone in header `name` (lower case); nothing when the field is absent. */
export function headerKey(name: string, field = "api_key"): Auth {
  return {
    fields: [field],
    apply(request, credentials) {
      const secret = credentials[field];
      if (secret !== undefined) request.headers[name] = headerValue(secret, field);
    },
  };
}

/** No credential is ever sent. */
export function none(): Auth {
  return { fields: [], apply() {} };
}
