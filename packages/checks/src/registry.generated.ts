// Made by `pnpm gen` from the folders beside this file. Do not edit.
import contains from "./contains/index.ts";
import type { Check } from "./define.ts";
import jsonSchema from "./json-schema/index.ts";
import modelWhitelist from "./model-whitelist/index.ts";
import regexMatch from "./regex-match/index.ts";
import requiredMetadataKeyPairs from "./required-metadata-key-pairs/index.ts";
import webhook from "./webhook/index.ts";

export const checks: readonly Check[] = [contains, jsonSchema, modelWhitelist, regexMatch, requiredMetadataKeyPairs, webhook];
