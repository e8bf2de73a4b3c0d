import type { Origin } from "./origin.ts";

/** The origins of one kind, bounded: the one unused longest makes room. */
export class OriginTable {
  private readonly origins = new Map<string, Origin>();
  /** Out of the table, with exchanges still under way. */
  private readonly leaving = new Set<Origin>();
  private readonly most: number;
  private uses = 0;

  constructor(most: number) {
    this.most = most;
  }

  get size(): number {
    return this.origins.size;
  }

  /** The origin of that URL, marked as used. */
  get(url: string): Origin | undefined {
    const origin = this.origins.get(url);
    if (origin !== undefined) origin.usedAt = ++this.uses;
    return origin;
  }

  add(origin: Origin): Origin {
    if (this.origins.size >= this.most) this.evict();
    this.origins.set(origin.url, origin);
    origin.usedAt = ++this.uses;
    return origin;
  }

  /** Ends everything as cancelled. */
  close(): void {
    for (const origin of [...this.origins.values(), ...this.leaving]) origin.close();
    this.origins.clear();
    this.leaving.clear();
  }

  private evict(): void {
    let oldest: Origin | null = null;
    for (const origin of this.origins.values()) if (oldest === null || origin.usedAt < oldest.usedAt) oldest = origin;
    if (oldest === null) return;
    this.origins.delete(oldest.url);
    oldest.retire();
    for (const origin of this.leaving) if (origin.empty) this.leaving.delete(origin);
    if (!oldest.empty) this.leaving.add(oldest);
  }
}
