import { docker } from "./docker.ts";

/** The name that compose files have for the image. */
export const IMAGE = "unigate-test";
/** What it is built on here; users have a newer one by default. */
export const NODE_IMAGE = "node:20-bookworm-slim";
const BUILD_MS = 300_000;

/** Builds the image as the README says. What has not changed since the last time is taken from the builder's cache. */
export async function buildImage(): Promise<void> {
  await docker(["build", "-t", IMAGE, "--build-arg", `NODE_IMAGE=${NODE_IMAGE}`, "-f", "deploy/Dockerfile", "."], BUILD_MS);
}

/** As hard as it is run anywhere. */
export const HARDENED = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"] as const;
