export { type Authority, issueCertificate, makeAuthority, readAuthority, type Validity } from "./certificates/authority.ts";
export { hashOfKey, looksLikeGatewayKey, makeGatewayKey } from "./gateway-key.ts";
export { loadOrMakeMasterKey, parseMasterKey } from "./master-key.ts";
export { sealedFromText, sealedToText } from "./sealed-text.ts";
export { createSealer, type Sealer } from "./sealer.ts";
export { SecretError, type SecretErrorCode } from "./secret-error.ts";
