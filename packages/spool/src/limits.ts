/** Bounds of a spool; every one has a default. */
export interface SpoolLimits {
  /** Size at which a segment is followed by the next, bytes. Default 16 MiB; never more than a quarter of `maxBytes`. */
  readonly segmentBytes: number;
  /** Bytes on disk, adopted folders included. Beyond it the oldest segments go. Default 1 GiB. */
  readonly maxBytes: number;
  /** Bytes in memory that no disk holds yet. Beyond it the oldest records go. Default 64 MiB. */
  readonly memoryBytes: number;
  /** Bytes of written records that stay in memory until they are delivered. Default 8 MiB. */
  readonly tailBytes: number;
  /** Longest wait of a record for others to share its write, ms. Default 7. */
  readonly writeDelayMs: number;
  /** Longest wait of written bytes for their fsync, ms. Default 200. */
  readonly syncDelayMs: number;
  /** A write that takes longer means that the disk fails: records are delivered from memory, ms. Default 5,000. */
  readonly stallMs: number;
  /** First wait before a failed disk is tried again, ms; doubles up to `maxDiskRetryMs`. Defaults 250 and 5,000. */
  readonly diskRetryMs: number;
  readonly maxDiskRetryMs: number;
  /** Records and bytes of one batch. Defaults 1,000 and 1 MiB; one record may be larger. */
  readonly batchRecords: number;
  readonly batchBytes: number;
  /** Wait after a delivery while little is left to deliver, so that batches are worth their call, ms. Default 25. */
  readonly deliverDelayMs: number;
  /** A delivery that takes longer has failed, ms. Default 10,000. */
  readonly deliverTimeoutMs: number;
  /** First wait after a failed delivery, ms; doubles up to `maxBackoffMs`, with full jitter. Defaults 100 and 5,000. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** How often folders of dead processes are looked for and the own one is marked as alive, ms. Default 15,000. */
  readonly rescanMs: number;
  /** Silence of an owner that cannot be asked after which its folder is taken over, ms. Default 120,000. */
  readonly quietMs: number;
}

const MiB = 1024 * 1024;

const DEFAULTS: SpoolLimits = {
  segmentBytes: 16 * MiB,
  maxBytes: 1024 * MiB,
  memoryBytes: 64 * MiB,
  tailBytes: 8 * MiB,
  writeDelayMs: 5,
  syncDelayMs: 200,
  stallMs: 5_000,
  diskRetryMs: 250,
  maxDiskRetryMs: 5_000,
  batchRecords: 1_000,
  batchBytes: MiB,
  deliverDelayMs: 25,
  deliverTimeoutMs: 10_000,
  backoffMs: 100,
  maxBackoffMs: 5_000,
  rescanMs: 15_000,
  quietMs: 120_000,
};

export function spoolLimits(given: Partial<SpoolLimits> = {}): SpoolLimits {
  const limits = { ...DEFAULTS, ...given };
  return { ...limits, segmentBytes: Math.min(limits.segmentBytes, Math.floor(limits.maxBytes / 4)) };
}
