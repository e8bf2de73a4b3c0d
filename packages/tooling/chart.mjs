// The generated parts of the Helm chart: the table of values in its README.md, from the comments of values.yaml, and the
// program's settings in its schema, from the built packages/runtime. With `--check` nothing is written; it fails when
// something is not as it would be made.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const chart = join(root, "helm/unigate");
const [BEGIN, END] = ["<!-- values: made by `npm run gen` from values.yaml, do not edit -->", "<!-- values: end -->"];

/** Rows of path, default and description: one for each key that has a comment above it. */
function documentedValues(text) {
  const lines = text.split("\n");
  const rows = [];
  const parents = [];
  let comment = "";
  for (const [index, line] of lines.entries()) {
    const remark = /^ *# (.*)$/.exec(line);
    if (remark !== null) {
      comment = comment === "" ? remark[1] : `${comment} ${remark[1]}`;
      continue;
    }
    const [, indent, key, value] = /^( *)([\w.-]+):(?: (.*))?$/.exec(line) ?? [];
    if (key !== undefined) {
      parents.length = indent.length / 2;
      parents.push(key);
      if (comment !== "") rows.push({ path: parents.join("."), value: value ?? blockBelow(lines, index, indent.length), comment });
    }
    comment = "";
  }
  return rows;
}

/** A value of several lines, as one. */
function blockBelow(lines, index, indent) {
  const block = [];
  for (const line of lines.slice(index + 1)) {
    if (line.trim() === "" || line.search(/\S/) <= indent) break;
    block.push(line.slice(indent + 2));
  }
  return flow(block);
}

/** A block of maps, lists and scalars in YAML's flow style. */
function flow(block) {
  const items = [];
  for (const line of block) {
    if (line.startsWith(" ")) items.at(-1).push(line.slice(2));
    else items.push([line]);
  }
  const inner = items.map(([first, ...rest]) =>
    rest.length === 0 ? first.replace(/^- /, "") : `${first.replace(/^- /, "")} ${flow(rest)}`,
  );
  if (items.every(([first]) => first.startsWith("- ")))
    return `[${items.map((item, at) => (isMap(item) ? `{ ${inner[at]} }` : inner[at])).join(", ")}]`;
  return `{ ${inner.join(", ")} }`;
}

function isMap([first]) {
  return /^- [\w.-]+:(?: |$)/.test(first);
}

function valuesTable() {
  const cell = (text) => text.replaceAll("|", "\\|");
  const shown = (text) => (text.length > 60 ? "see values.yaml" : `\`${cell(text)}\``);
  const rows = documentedValues(readFileSync(join(chart, "values.yaml"), "utf8"));
  return [
    "| value | default | meaning |",
    "| --- | --- | --- |",
    ...rows.map(({ path, value, comment }) => `| \`${path}\` | ${shown(value)} | ${cell(comment)} |`),
  ].join("\n");
}

function readme() {
  const text = readFileSync(join(chart, "README.md"), "utf8");
  const [start, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (start < 0 || end < start) throw new Error(`helm/unigate/README.md must hold the lines "${BEGIN}" and "${END}"`);
  return `${text.slice(0, start)}${BEGIN}\n${valuesTable()}\n${text.slice(end)}`;
}

/** The settings that the chart leaves to `settings`: none that it sets by itself, and no secret. */
async function schema() {
  const { settingSpecs } = await import(new URL("../runtime/dist/setting-specs.js", import.meta.url).href).catch((cause) => {
    throw new Error("packages/runtime is not built: run `npx tsc -b` first", { cause });
  });
  const own = new Set([
    ...readFileSync(join(chart, "templates/_environment.tpl"), "utf8").match(/\b(?:UNIGATE_[A-Z_]+|HOST|PORT)\b/g),
    "UNIGATE_TARGET",
  ]);
  const free = Object.entries(settingSpecs).filter(([name, { secret }]) => secret !== true && !own.has(name));
  const made = JSON.parse(readFileSync(join(chart, "values.schema.json"), "utf8"));
  made.properties.settings = {
    type: "object",
    description: "Made by `npm run gen` from the settings of the program, do not edit.",
    additionalProperties: false,
    properties: Object.fromEntries(free.map(([name, spec]) => [name, settingSchema(spec)])),
  };
  return made;
}

function settingSchema({ default: usual, help, form, min = 0, max }) {
  if (form === undefined && usual !== null && /^\d+$/.test(usual))
    return { type: "integer", minimum: min, ...(max === undefined ? {} : { maximum: max }), description: help };
  // Helm's expressions know no lookahead; the program still refuses what they let through.
  const pattern =
    form === undefined || /\(\?[=!<]/.test(form.pattern.source) || form.pattern.flags !== "" ? {} : { pattern: form.pattern.source };
  return { type: ["string", "number"], ...pattern, description: help };
}

const stale = [];
function put(name, isFresh, text) {
  if (isFresh) return;
  if (process.argv.includes("--check")) stale.push(`helm/unigate/${name}`);
  else writeFileSync(join(chart, name), text);
}

/** How wide a table's columns are, and where a document's lines break, is the formatter's. */
const loose = (text) => text.replaceAll(/ +/g, " ").replaceAll(/-+/g, "-");
const strict = (text) => JSON.stringify(JSON.parse(text));
const found = (name) => readFileSync(join(chart, name), "utf8");

const page = readme();
put("README.md", loose(page) === loose(found("README.md")), page);
const made = JSON.stringify(await schema(), null, 2);
put("values.schema.json", strict(made) === strict(found("values.schema.json")), made);
if (stale.length > 0) {
  console.error(`${stale.join(" and ")} would be made differently: run \`npm run gen\` and commit what changes`);
  process.exitCode = 1;
}
