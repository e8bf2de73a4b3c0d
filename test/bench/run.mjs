// `npm run bench`: CPU time per request of every process of the gateway, beside a minimal Node proxy in the same run.
// Absolute times mean little on a shared machine; the ratios are what is compared. `--help` lists the words it takes.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { residentMiB, rolesOf } from "./accounts.mjs";
import { cases } from "./cases.mjs";
import { firstAnswer } from "./load.mjs";
import { measureCase, targetOf } from "./measure.mjs";
import { helpText, readOptions } from "./options.mjs";
import { start, stop } from "./processes.mjs";
import { nameProfiles } from "./profiles.mjs";
import { reportText } from "./report.mjs";

const say = (text) => process.stderr.write(`${text}\n`);

/** A subject that has answered once. */
async function startSubject(subject, upstream, options) {
  const started = performance.now();
  const one = { ...(await subject.start({ ...options, upstream })), subject, upstream };
  try {
    await firstAnswer(targetOf(cases[0], one));
  } catch (error) {
    await stop(one);
    throw error;
  }
  const { pid } = one.child;
  return { ...one, firstAnswerMs: performance.now() - started, idleMiB: residentMiB(pid), roles: rolesOf(pid) };
}

async function endSubject(one, { profile }) {
  await stop(one);
  one.clear?.();
  if (profile !== null && one.subject.isGateway) nameProfiles(join(profile, one.subject.name), one.roles);
}

async function run(options) {
  const problems = [];
  const onProblem = (text) => {
    problems.push(text);
    say(text);
  };
  const rows = [];
  const running = [];
  const upstream = await start(fileURLToPath(new URL("./upstream.mjs", import.meta.url)));
  try {
    for (const subject of options.subjects) {
      running.push(await startSubject(subject, `http://127.0.0.1:${upstream.message.port}`, options));
      say(`${subject.title} answers after ${running.at(-1).firstAnswerMs.toFixed(0)} ms`);
    }
    for (const item of options.cases) {
      const able = running.filter(({ subject }) => !(item.isOwn && subject.isPeer));
      rows.push(...(await measureCase(item, able, { ...options, onProgress: say, onProblem })));
    }
    for (const one of running) one.loadedMiB = residentMiB(one.child.pid);
  } finally {
    await Promise.all([...running.map((one) => endSubject(one, options)), stop(upstream)]);
  }
  const subjects = running.map(({ subject, roles, firstAnswerMs, idleMiB, loadedMiB }) => {
    return { subject: subject.title, processes: roles.size, first_answer_ms: firstAnswerMs, idle_mib: idleMiB, loaded_mib: loadedMiB };
  });
  return { rows, subjects, problems };
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  if (options.help) return process.stdout.write(`${helpText()}\n`);
  const result = await run(options);
  const tookSeconds = Math.round(performance.now() / 1_000);
  process.stdout.write(`${reportText({ ...result, tookSeconds, options })}\n`);
  const { rows, subjects, problems } = result;
  const { rounds, seconds, scale } = options;
  const whole = {
    valid: problems.length === 0,
    problems,
    node: process.versions.node,
    rounds,
    seconds,
    scale,
    took_seconds: tookSeconds,
    rows,
    subjects,
  };
  if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(whole, null, 2)}\n`);
  if (problems.length === 0) return;
  say(`INVALID: ${problems.length} failures, see above`);
  process.exitCode = 1;
}

// So that what runs below is ended too.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));
main().catch((error) => {
  say(`bench: ${error.message}`);
  process.exitCode = 1;
});
