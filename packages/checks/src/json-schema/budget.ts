/** Steps of one validation: some 0.5 s. */
const MAX_STEPS = 2_000_000;
const STEPS_A_SCHEMA = 5;
/** Schemas within schemas within values; the stack has room for several times that. */
const MAX_NESTING = 1_000;

/** What a validation may still do. Time is counted, not measured, so that the same input always ends the same way. */
export class Budget {
  #steps = MAX_STEPS;
  #nesting = 0;

  /** A step is about one comparison, or 100 characters looked at. Throws when there are none left. */
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new Error("checking the text against the schema takes too long");
  }

  /** Another schema over some value, which costs as much as several comparisons. */
  enter(): void {
    this.spend(STEPS_A_SCHEMA);
    this.#nesting += 1;
    if (this.#nesting > MAX_NESTING) throw new Error("the schema leads back to itself too often");
  }

  leave(): void {
    this.#nesting -= 1;
  }
}
