import { type Kysely, runSql, type SchemaMigrations } from "@unigate/sql";

/** The schema "logs". A migration is never changed once it was released: add the next one. */
export const logMigrations: SchemaMigrations = {
  schema: "logs",
  migrations: {
    "0001-records-and-bodies": { up: recordsAndBodies },
  },
};

/**
 * Records by the day of their time, their bodies apart, so that both are dropped by the day. An id is unique within its
 * day: each partition has a unique index of its own (see partitions.ts), which a partitioned table cannot have for all.
 * Texts compare by bytes, so that order and cursors are the same on every engine.
 */
async function recordsAndBodies(database: Kysely<unknown>): Promise<void> {
  const text = 'text collate "C"';
  await runSql(
    database,
    `create table logs.records (
      time bigint not null,
      id ${text} not null,
      organisation_id ${text} not null,
      workspace_id ${text} not null,
      trace_id ${text} not null,
      api_key_id ${text},
      provider ${text},
      provider_slug ${text},
      model ${text},
      response_model ${text},
      status integer not null,
      head text not null,
      tail text
    ) partition by range (time)`,
  );
  await runSql(database, "create index records_by_workspace on logs.records (organisation_id, workspace_id, time desc, id desc)");
  await runSql(database, "create index records_by_trace on logs.records (organisation_id, trace_id, time desc, id desc)");
  await runSql(
    database,
    `create table logs.bodies (
      time bigint not null,
      id ${text} not null,
      organisation_id ${text} not null,
      tail text not null
    ) partition by range (time)`,
  );
}
