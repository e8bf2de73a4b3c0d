import { type Kysely, runSql, type SchemaMigrations } from "@unigate/sql";

/** The schema "control". A migration is never changed once it was released: add the next one. */
export const controlMigrations: SchemaMigrations = {
  schema: "control",
  migrations: {
    "0001-saved-things": { up: savedThings },
  },
};

/**
 * Rows as JSON beside what they are found by; configs as they were; and which thing was changed last by which number.
 * The numbers come from one row that every write locks: they are committed in their order. A removed thing keeps its
 * line in `change`. JSON is kept as text, so that rows come back just as they went in.
 */
async function savedThings(database: Kysely<unknown>): Promise<void> {
  const text = 'text collate "C"';
  const statements = [
    `create table control.store (
      one boolean primary key default true check (one),
      seq bigint not null,
      master_key text
    )`,
    "insert into control.store (seq) values (0)",
    `create table control.saved (
      kind ${text} not null,
      id ${text} not null,
      organisation_id ${text} not null,
      slug ${text} not null,
      version bigint not null,
      row text not null,
      primary key (kind, id),
      unique (kind, organisation_id, slug)
    )`,
    `create table control.version (
      kind ${text} not null,
      id ${text} not null,
      version bigint not null,
      row text not null,
      primary key (kind, id, version)
    )`,
    `create table control.change (
      kind ${text} not null,
      id ${text} not null,
      seq bigint not null unique,
      primary key (kind, id)
    )`,
  ];
  for (const statement of statements) await runSql(database, statement);
}
