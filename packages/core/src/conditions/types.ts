import type { ParamPath } from "../config/types.ts";
import type { LinearPattern } from "../linear-pattern.ts";
import type { Scalar } from "../param-value.ts";

/** What a condition looks at (behaviour 2.4). */
export type Field =
  | { readonly kind: "metadata"; readonly key: string }
  | { readonly kind: "param"; readonly path: ParamPath }
  /** By its lower-case name. */
  | { readonly kind: "header"; readonly name: string }
  | { readonly kind: "pathname" };

/** A query, compiled. */
export type Condition =
  | { readonly kind: "all"; readonly of: readonly Condition[] }
  | { readonly kind: "any"; readonly of: readonly Condition[] }
  /** Every test must pass. */
  | { readonly kind: "field"; readonly field: Field; readonly tests: readonly ValueTest[] };

export type ValueTest =
  | { readonly operator: "$eq" | "$ne"; readonly value: Scalar }
  | { readonly operator: "$gt" | "$gte" | "$lt" | "$lte"; readonly value: number }
  | { readonly operator: "$in" | "$nin"; readonly values: ReadonlySet<Scalar> }
  | { readonly operator: "$regex"; readonly pattern: LinearPattern; readonly all: PatternSizes };

/** Of all patterns of one config together: what the longest text is that each may look at. */
export interface PatternSizes {
  /** Instructions. */
  readonly total: number;
}

/** A field that tells apart those who ask, with the name that the config gives it. */
export interface HashField {
  readonly name: string;
  readonly field: Field;
}
