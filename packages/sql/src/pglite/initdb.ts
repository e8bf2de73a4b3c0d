/**
 * PostgreSQL's settings beyond PGlite's own. Small buffers: 130 MiB less memory. A bounded write-ahead log: there is no
 * background checkpointer, so this also bounds the recovery after a crash.
 */
export const START_PARAMETERS: readonly string[] = [
  ["shared_buffers", "8MB"],
  ["max_wal_size", "32MB"],
  ["min_wal_size", "4MB"],
  ["timezone", "UTC"],
  ["statement_timeout", "0"],
].flatMap(([name, value]) => ["-c", `${name}=${value}`]);

/** Checksums tell a damaged page from a sound one; small log segments keep a new folder small. */
export const INITDB_PARAMETERS: readonly string[] = ["--data-checksums", "--wal-segsize=1"];
