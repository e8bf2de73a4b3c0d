import type { InFlight } from "@unigate/contracts";

/** Targets with requests under way that are told of; of more, the router knows nothing. */
const MOST_TARGETS = 5_000;
/** Numbers in one report. */
const MOST_TAKEN = 500;
/** A number that is not 0 is told again after this, ms: the router forgets a process that is silent for 15 s. */
const REPEAT_MS = 5_000;

export type BusyTarget = Omit<InFlight, "count" | "at">;

interface Counted {
  readonly target: BusyTarget;
  count: number;
  isNew: boolean;
}

/** How many requests this process has under way at the targets of configs that choose by it. */
export interface UnderWay {
  /** Gives what ends it; ending twice does nothing more. */
  begin(target: BusyTarget): () => void;
  /** What has to be told now. */
  take(): InFlight[];
  /** Called when there is something to tell. */
  onChange(call: () => void): void;
  stop(): void;
}

export function createUnderWay(now: () => number): UnderWay {
  const targets = new Map<string, Counted>();
  let told: () => void = () => {};
  let repeat: NodeJS.Timeout | null = null;

  function changed(counted: Counted): void {
    counted.isNew = true;
    told();
  }

  function repeatAll(): void {
    for (const counted of targets.values()) counted.isNew = true;
    if (targets.size > 0) told();
  }

  return {
    begin(target) {
      const key = `${target.tenant?.organisationId ?? ""}/${target.configId}/${target.configHash.toString("latin1")}/${target.optionPath}`;
      let counted = targets.get(key);
      if (counted === undefined) {
        if (targets.size >= MOST_TARGETS) return () => {};
        targets.set(key, (counted = { target, count: 0, isNew: true }));
      }
      const mine = counted;
      mine.count += 1;
      changed(mine);
      repeat ??= setInterval(repeatAll, REPEAT_MS).unref();
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        mine.count -= 1;
        changed(mine);
      };
    },
    take() {
      const taken: InFlight[] = [];
      const at = now();
      for (const [key, counted] of targets) {
        if (!counted.isNew) continue;
        if (taken.length >= MOST_TAKEN) {
          told();
          break;
        }
        counted.isNew = false;
        taken.push({ ...counted.target, count: counted.count, at });
        if (counted.count === 0) targets.delete(key);
      }
      return taken;
    },
    onChange(call) {
      told = call;
    },
    stop() {
      if (repeat !== null) clearInterval(repeat);
      repeat = null;
    },
  };
}
