import type { Database } from '../../warehouse/database.ts';
import { LAKE_VERSION } from './held-tables.ts';
import type { Lakehouse } from './lakehouse.ts';
import { nameInLake, nameSchema, OWN_TABLES } from './names.ts';

/** Who creates a commit's table, before anything is published. */
export interface FirstCommit {
  /** Entries of `meta` that say whose rows these are. */
  readonly owner: ReadonlyMap<string, string>;
  readonly runId: string | undefined;
  readonly nowMs: number;
  /** Given by a takeover; without one the table has no column for it. */
  readonly token?: number;
}

/** Creates the schemas, and in them the table of the commit with its one row. */
export async function createCommit(
  database: Database,
  lakehouse: Lakehouse,
  { owner, runId, nowMs, token }: FirstCommit,
): Promise<void> {
  const { destination } = lakehouse;
  for (const stored of ['main', '_sluice'] as const)
    await database.run(`CREATE SCHEMA IF NOT EXISTS ${nameSchema(destination, stored)}`);
  const commit = nameInLake(destination, '_sluice', OWN_TABLES.commit);
  const [column, value] = token === undefined ? ['', ''] : [', token BIGINT', `, ${token}`];
  await database.run(
    `CREATE TABLE ${commit} (generation VARCHAR, run_id VARCHAR, version INTEGER, hashes VARCHAR, maintained_at TIMESTAMPTZ${column}) ${lakehouse.lostFiles?.label(owner) ?? ''}`,
  );
  await database.run(
    `INSERT INTO ${commit} VALUES (NULL, $1, ${LAKE_VERSION}, NULL, make_timestamptz($2::BIGINT)${value})`,
    [runId ?? null, nowMs * 1_000],
  );
}
