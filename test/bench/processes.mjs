// Starting and ending the processes under test.
import { fork } from "node:child_process";

/** Forks a script; it ends with this process at the latest. `errors`: where its standard error goes. */
export function launch(script, { env = {}, args = [], execArgv = [], errors = "inherit" } = {}) {
  const child = fork(script, args, { env: { ...process.env, ...env }, execArgv, stdio: ["ignore", "ignore", errors, "ipc"] });
  const end = () => child.kill("SIGTERM");
  process.once("exit", end);
  child.once("exit", () => process.off("exit", end));
  return child;
}

/** Forks a script and waits for its first message. */
export function start(script, how) {
  return new Promise((resolve, reject) => {
    const child = launch(script, how);
    child.once("message", (message) => resolve({ child, message }));
    child.once("exit", (code) => reject(new Error(`${script} ended with ${code}`)));
  });
}

/** Ends a process and waits for it. */
export function stop({ child }) {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", resolve);
    child.kill("SIGINT");
  });
}
