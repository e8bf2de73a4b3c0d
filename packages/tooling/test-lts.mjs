// `npm run test:lts`: the suites on the long-term releases of Node, with the engines that the environment names. Words
// after `npm run test:lts --` go to vitest.
import { runOnLts } from "./lts.mjs";
import { close } from "./suites.mjs";

const started = performance.now();
const words = process.argv.slice(2);
close(await runOnLts(words.length > 0 ? { words } : {}), started);
