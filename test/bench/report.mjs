// The results as tables.
import { cpus } from "node:os";

/** Markdown: a line of what was run, the ratios, the processes. `problems` make it invalid. */
export function reportText({ rows, subjects, problems, tookSeconds, options }) {
  const { rounds, seconds, showsProcesses, profile } = options;
  const blocks = [
    ...(problems.length === 0 ? [] : [["**INVALID: this run had failures**", "", ...problems.map((problem) => `- ${problem}`)].join("\n")]),
    `Node ${process.versions.node}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}. CPU time of all processes of a subject, median of ${rounds} rounds; ratio to the minimal proxy; latency at a fixed rate for ${seconds} s, added to that of the minimal proxy. Gateway key, saved config, logging on. The run took ${tookSeconds} s.${profile === null ? "" : " **Profiled: the times are worth little.**"}`,
    table(
      ["case", "subject", "requests", "at a time", "CPU us a request", "ratio", "goal", "requests/s", "added p50 ms", "added p99 ms"],
      rows.map((row) => [
        row.case,
        row.subject,
        `${rounds} x ${row.requests_a_round}`,
        row.connections,
        row.cpu_us.toFixed(0),
        row.ratio.toFixed(2),
        goalText(row),
        row.per_second.toFixed(0),
        row.added_p50_ms.toFixed(2),
        row.added_p99_ms.toFixed(2),
      ]),
    ),
    table(
      ["subject", "processes", "first answer after ms", "resident MiB then", "after the run"],
      subjects.map((one) => [
        one.subject,
        one.processes,
        one.first_answer_ms.toFixed(0),
        one.idle_mib.toFixed(0),
        one.loaded_mib.toFixed(0),
      ]),
    ),
  ];
  if (showsProcesses) blocks.push(processTable(rows));
  return blocks.join("\n\n");
}

function goalText({ goal, ratio }) {
  if (goal === null) return "";
  return ratio <= goal ? goal.toFixed(1) : `${goal.toFixed(1)} **missed**`;
}

/** Which process of a subject the time goes to. */
function processTable(rows) {
  const lines = rows
    .filter((row) => row.cpu_us_by_process.length > 1)
    .flatMap((row) => {
      const sum = row.cpu_us_by_process.reduce((total, { cpu_us }) => total + cpu_us, 0);
      return row.cpu_us_by_process.map(({ process, cpu_us }) => [
        row.case,
        row.subject,
        process,
        cpu_us.toFixed(0),
        `${((cpu_us * 100) / Math.max(sum, 1)).toFixed(0)} %`,
      ]);
    });
  return table(["case", "subject", "process", "CPU us a request", "share"], lines);
}

function table(head, lines) {
  const row = (cells) => `| ${cells.join(" | ")} |`;
  return [row(head), row(head.map(() => "---")), ...lines.map(row)].join("\n");
}
