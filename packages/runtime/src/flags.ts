/** What the command line asked for. */
export interface Flags {
  readonly help: boolean;
  readonly version: boolean;
  readonly listTargets: boolean;
  readonly makeKey: boolean;
  readonly checkConfig: string | null;
  /** File to export to, "" = standard output; null = not given. */
  readonly exportTo: string | null;
  /** File to import; null = not given. */
  readonly importFrom: string | null;
  readonly migrate: boolean;
  /** Null = not given. */
  readonly target: string | null;
  /** As it was written; null = not given. */
  readonly workers: string | null;
}

/** A word of the command line that cannot be used. */
export class FlagError extends Error {
  override readonly name = "FlagError";
}

export const flagHelp: readonly (readonly [string, string])[] = [
  ["--target=LIST", "services to run here: all, or a comma-separated list"],
  ["--workers N", "processes that serve HTTP on the one port, 1 to 64, or auto: one a processor"],
  ["--list-targets", "print the services and what each needs"],
  ["--check-config [FILE]", "check unigate.yaml (default: UNIGATE_CONFIG) and exit"],
  ["--export [FILE]", "write all saved things as NDJSON, secrets sealed, to a new file (default: standard output) and exit"],
  ["--import FILE", "take over what --export wrote, all or nothing, and exit; the gateway of the data folder must be stopped"],
  ["--migrate", "bring the schemas of UNIGATE_DATABASE_URL to the version of this program and exit; each start does it as well"],
  ["--make-key", "print a fresh gateway key, for unigate.yaml or UNIGATE_ADMIN_KEY"],
  ["--version", "print the version"],
  ["--help", "print this"],
];

/** Reads the words after the program's name. `--name value` and `--name=value` both work. Throws FlagError. */
export function readFlags(words: readonly string[]): Flags {
  let [help, version, listTargets, makeKey, migrate] = [false, false, false, false, false];
  let checkConfig: string | null = null;
  let exportTo: string | null = null;
  let importFrom: string | null = null;
  let target: string | null = null;
  let workers: string | null = null;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const equals = word.indexOf("=");
    const name = equals < 0 ? word : word.slice(0, equals);
    const next = words[index + 1];
    const value = (): string | null => {
      if (equals >= 0) return word.slice(equals + 1);
      if (next === undefined || next.startsWith("--")) return null;
      index += 1;
      return next;
    };
    switch (name) {
      case "--help":
      case "-h":
        help = true;
        break;
      case "--version":
        version = true;
        break;
      case "--list-targets":
        listTargets = true;
        break;
      case "--make-key":
        makeKey = true;
        break;
      case "--migrate":
        migrate = true;
        break;
      case "--check-config":
        checkConfig = value() ?? "";
        break;
      case "--export":
        exportTo = value() ?? "";
        break;
      case "--import":
        importFrom = value();
        if (importFrom === null || importFrom === "") throw new FlagError("--import needs a file, such as --import=saved.ndjson");
        break;
      case "--target":
        target = value();
        if (target === null) throw new FlagError("--target needs a list, such as --target=edge,connector");
        break;
      case "--workers":
        workers = value();
        if (workers === null) throw new FlagError("--workers needs a number from 1 to 64, or auto");
        break;
      default:
        throw new FlagError(`unknown word "${word}"; --help lists what is understood`);
    }
  }
  return { help, version, listTargets, makeKey, checkConfig, exportTo, importFrom, migrate, target, workers };
}
