import { readProcess } from "@unigate/runtime";
import { makeCertificates } from "./mesh/make-certificates.ts";

/** `node mesh-certificates.js <folder>`: makes what is missing or about to expire, and says so. */
async function main(): Promise<void> {
  const [folder, ...more] = readProcess().words;
  if (folder === undefined || folder.startsWith("-") || more.length > 0)
    throw new Error("expected one word, the folder of the certificates: mesh-certificates.js certificates");
  for (const { service, made, validTo } of await makeCertificates(folder))
    process.stdout.write(`${made ? "made" : "kept"} ${folder}/${service}, valid to ${validTo.toISOString()}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`unigate: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
