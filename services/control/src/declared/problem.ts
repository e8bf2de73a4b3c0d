/** Something wrong with the declared resources. */
export interface Problem {
  /** Name of the file as it was given. */
  readonly file: string;
  /** 1 for the first line; 0 when no line can be named. */
  readonly line: number;
  /** "providers[0].api_key"; empty for the file itself. */
  readonly path: string;
  /** What was expected. Never holds a value that came from the environment. */
  readonly message: string;
}

/** A problem before its place in the file is known. */
export interface Finding {
  readonly path: string;
  readonly message: string;
}

/** One line for people: "unigate.yaml:3: providers[0].api_key: expected a text". */
export function problemText({ file, line, path, message }: Problem): string {
  return [line > 0 ? `${file}:${line}` : file, ...(path === "" ? [] : [path]), message].join(": ");
}

/** The declared resources cannot be used. Its message lists every problem, one a line. */
export class DeclaredError extends Error {
  override readonly name = "DeclaredError";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(["The declared resources cannot be used:", ...problems.map((problem) => `  ${problemText(problem)}`)].join("\n"));
    this.problems = problems;
  }
}

/** A path and a step below it. */
export function below(path: string, step: string | number): string {
  if (typeof step === "number") return `${path}[${step}]`;
  return path === "" ? step : `${path}.${step}`;
}

/** A finding of a part of something, as a finding of the whole. */
export function under(path: string, { path: inner, message }: Finding): Finding {
  if (path === "" || inner === "") return { path: path + inner, message };
  return { path: inner.startsWith("[") ? path + inner : `${path}.${inner}`, message };
}

/** `value` in quotes, when it is short enough not to be a secret put in the wrong place. */
export function quoted(value: string): string {
  return value.length <= 32 ? `"${value}"` : "this value";
}
