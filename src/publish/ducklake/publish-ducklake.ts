import type { DuckLakeDestination } from '../../model/destination.ts';
import { PublishError } from '../../model/errors.ts';
import type { Stream } from '../../model/stream.ts';
import type { Database } from '../../warehouse/database.ts';
import { quoteIdentifier, quoteLiteral } from '../../warehouse/identifiers.ts';
import {
  AUTHOR,
  LAKE_VERSION,
  type HeldLake,
  type HeldTable,
  listLakeTables,
  readHeldLake,
  splitName,
} from './lake-state.ts';
import { LAKE, nameInLake, OWN_TABLES, toLakeSchema } from './names.ts';
import { type ChangedParts, describeFilter, inLake, inWork } from './rows.ts';
import { listStoredTables, type StoredTable } from './stored-tables.ts';

/** What is published to a lake. */
export interface LakeJob {
  /** Open on the work file and the lake. */
  readonly database: Database;
  readonly lake: DuckLakeDestination;
  readonly streams: readonly Stream[];
  readonly generation: string;
  readonly runId: string;
  readonly nowMs: number;
  /** See `Commit`. */
  readonly look: (generation: string | undefined) => Promise<void>;
}

/** What a publish changed. */
export interface LakeChange {
  readonly tables: number;
  readonly inserted: number;
  readonly deleted: number;
  /** Epoch ms; that of the first publish before any. */
  readonly maintainedAtMs: number;
}

/**
 * Makes the tables of a lake equal to those of the work file, in one transaction of the lake. Rows are compared by
 * value, part by part; parts whose checksum is unchanged are not read in the lake.
 */
export function publishToLake(job: LakeJob): Promise<LakeChange> {
  return job.database.transaction(() => new LakePublish(job).run());
}

class LakePublish {
  readonly #job: LakeJob;
  #inserted = 0;
  #deleted = 0;

  constructor(job: LakeJob) {
    this.#job = job;
  }

  async run(): Promise<LakeChange> {
    const { database, lake, streams, generation, nowMs, look } = this.#job;
    const held = await readHeldLake(database, lake);
    await look(held?.generation);
    const maintainedAtMs = held?.maintainedAtMs ?? nowMs;
    if (held?.generation === generation && !held.isTouched)
      return { tables: 0, inserted: 0, deleted: 0, maintainedAtMs };
    if (held === undefined) await this.#create();
    const tables = await listStoredTables(database, streams, held);
    await this.#findChangedParts(tables);
    const changed = await this.#countChangedParts();
    let due = 0;
    for (const table of tables) {
      const before = held?.tables.get(table.name);
      const parts = changed.get(table.name);
      const isNew = await this.#shape(table, before);
      if (isNew) await this.#fill(table);
      else if (parts !== undefined || held?.isTouched === true)
        await this.#change(table, held?.isTouched === true ? undefined : parts);
      else continue;
      due += 1;
    }
    await this.#dropOthers(tables, held);
    await this.#recordParts();
    await this.#recordCommit(held);
    return { tables: due, inserted: this.#inserted, deleted: this.#deleted, maintainedAtMs };
  }

  #own(table: string): string {
    return nameInLake(this.#job.lake.schema, '_sluice', table);
  }

  async #create(): Promise<void> {
    const { database, lake } = this.#job;
    for (const stored of ['main', '_sluice'] as const) {
      const schema = `${LAKE}.${quoteIdentifier(toLakeSchema(lake.schema, stored))}`;
      await database.run(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    }
    await database.run(
      `CREATE TABLE ${this.#own(OWN_TABLES.commit)} (generation VARCHAR, run_id VARCHAR, version INTEGER, maintained_at TIMESTAMPTZ)`,
    );
    await database.run(
      `CREATE TABLE ${this.#own(OWN_TABLES.tables)} (name VARCHAR, columns VARCHAR, partitions VARCHAR)`,
    );
    await database.run(
      `CREATE TABLE ${this.#own(OWN_TABLES.parts)} (name VARCHAR, part VARCHAR, rows BIGINT, sum VARCHAR)`,
    );
  }

  /** Computes the checksum of each part in the work file, and compares it with the one that was published. */
  async #findChangedParts(tables: readonly StoredTable[]): Promise<void> {
    const { database } = this.#job;
    await database.run(
      'CREATE OR REPLACE TEMP TABLE sluice_parts (name VARCHAR, part VARCHAR, rows BIGINT, sum VARCHAR)',
    );
    for (const table of tables) {
      const { from, hash, part } = inWork(table);
      await database.run(
        `INSERT INTO sluice_parts SELECT ${quoteLiteral(table.name)}, ${part}, count(*), sum(${hash})::VARCHAR
           FROM ${from} GROUP BY ALL`,
      );
    }
    await database.run(
      `CREATE OR REPLACE TEMP TABLE sluice_changed AS
         SELECT name, part FROM sluice_parts AS now FULL JOIN ${this.#own(OWN_TABLES.parts)} AS held USING (name, part)
         WHERE now.rows IS DISTINCT FROM held.rows OR now.sum IS DISTINCT FROM held.sum`,
    );
  }

  async #countChangedParts(): Promise<ReadonlyMap<string, ChangedParts>> {
    const rows = await this.#job.database.all(
      `SELECT name, min(part) AS first, max(part) AS last, bool_and(regexp_full_match(part, '\\d{4}-\\d{2}-\\d{2}')) AS are_days
         FROM sluice_changed GROUP BY name`,
    );
    return new Map(
      rows.map(({ name, first, last, are_days: areDays }) => [
        String(name),
        // Other days of the calendar, as of a year with five digits, do not sort as texts.
        areDays === true ? { first: String(first), last: String(last) } : {},
      ]),
    );
  }

  /** Gives a table of the lake the columns and partitions that it should have; true if it is new and empty. */
  async #shape(table: StoredTable, before: HeldTable | undefined): Promise<boolean> {
    const { database, lake } = this.#job;
    const name = nameInLake(lake.schema, table.schema, table.table);
    const columns = JSON.stringify(table.columns);
    if (
      before?.found === 'as published' &&
      JSON.stringify(before.columns) === columns &&
      before.partitions === table.partitions
    )
      return false;
    const isNew = before?.found !== 'as published' || isRetyped(table, before);
    if (before === undefined) await this.#refuseTaken(table);
    if (isNew) {
      const list = table.columns.map((column) => `${quoteIdentifier(column.name)} ${column.storedAs}`);
      if (before !== undefined && before.found !== 'gone') await database.run(`DROP TABLE ${name}`);
      await database.run(`CREATE TABLE ${name} (${list.join(', ')})`);
    } else {
      for (const change of describeColumnChanges(table, before))
        await database.run(`ALTER TABLE ${name} ${change}`);
    }
    if (table.partitions !== (isNew ? '' : before.partitions))
      await database.run(
        `ALTER TABLE ${name} ${table.partitions === '' ? 'RESET PARTITIONED BY' : `SET PARTITIONED BY (${table.partitions})`}`,
      );
    await database.run(`DELETE FROM ${this.#own(OWN_TABLES.tables)} WHERE name = $1`, [table.name]);
    await database.run(`INSERT INTO ${this.#own(OWN_TABLES.tables)} VALUES ($1, $2, $3)`, [
      table.name,
      columns,
      table.partitions,
    ]);
    return isNew;
  }

  async #refuseTaken({ schema, table }: StoredTable): Promise<void> {
    const { database, lake } = this.#job;
    const inLakeAs = toLakeSchema(lake.schema, schema);
    const taken = (await listLakeTables(database, inLakeAs)).find(
      (one) => one.toLowerCase() === table.toLowerCase(),
    );
    if (taken !== undefined) throw describeTaken(lake.path, `${inLakeAs}.${taken}`);
  }

  async #fill(table: StoredTable): Promise<void> {
    const { database, lake } = this.#job;
    const columns = listColumns(table);
    this.#inserted += await database.count(
      `INSERT INTO ${nameInLake(lake.schema, table.schema, table.table)} (${columns}) SELECT ${columns} FROM ${inWork(table).from}`,
    );
  }

  /** Makes the rows of changed parts equal; without parts, all rows. */
  async #change(table: StoredTable, parts: ChangedParts | undefined): Promise<void> {
    const { database, lake } = this.#job;
    const work = inWork(table);
    const held = inLake(table, lake.schema);
    const filter = parts === undefined ? 'true' : describeFilter(table, parts, work);
    // Equal rows of a table without a key count: one more of them is a change.
    await database.run(
      `CREATE OR REPLACE TEMP TABLE sluice_differ AS SELECT hash FROM (
         SELECT ${work.hash} AS hash, 1 AS n FROM ${work.from} WHERE ${filter}
         UNION ALL SELECT ${held.hash}, -1 FROM ${held.from} WHERE ${filter}) GROUP BY hash HAVING sum(n) <> 0`,
    );
    if ((await database.count('SELECT count(*) FROM sluice_differ')) === 0) return;
    const differs = (hash: string) => `${filter} AND ${hash} IN (SELECT hash FROM sluice_differ)`;
    const columns = listColumns(table);
    this.#deleted += await database.count(`DELETE FROM ${held.from} WHERE ${differs(held.hash)}`);
    this.#inserted += await database.count(
      `INSERT INTO ${held.from} (${columns}) SELECT ${columns} FROM ${work.from} WHERE ${differs(work.hash)}`,
    );
  }

  /** Drops tables that the work file no longer has. */
  async #dropOthers(tables: readonly StoredTable[], held: HeldLake | undefined): Promise<void> {
    const { database, lake } = this.#job;
    const names = new Set(tables.map(({ name }) => name));
    for (const name of held?.tables.keys() ?? []) {
      if (names.has(name)) continue;
      await database.run(`DROP TABLE IF EXISTS ${nameInLake(lake.schema, ...splitName(name))}`);
      await database.run(`DELETE FROM ${this.#own(OWN_TABLES.tables)} WHERE name = $1`, [name]);
    }
  }

  async #recordParts(): Promise<void> {
    const { database } = this.#job;
    const parts = this.#own(OWN_TABLES.parts);
    await database.run(
      `DELETE FROM ${parts} WHERE (name, part) IN (SELECT (name, part) FROM sluice_changed)`,
    );
    await database.run(
      `INSERT INTO ${parts} SELECT * FROM sluice_parts SEMI JOIN sluice_changed USING (name, part)`,
    );
  }

  /** Names the commit. Of two that publish at the same time, one fails here or when it commits. */
  async #recordCommit(held: HeldLake | undefined): Promise<void> {
    const { database, lake, generation, runId, nowMs } = this.#job;
    const commit = this.#own(OWN_TABLES.commit);
    if (held === undefined)
      await database.run(
        `INSERT INTO ${commit} VALUES ($1, $2, ${LAKE_VERSION}, make_timestamptz($3::BIGINT))`,
        [generation, runId, nowMs * 1_000],
      );
    else {
      const changed = await database.count(
        `UPDATE ${commit} SET generation = $1, run_id = $2 WHERE generation = $3`,
        [generation, runId, held.generation],
      );
      if (changed !== 1)
        throw new PublishError(`${lake.path}: another run published at the same time`, {
          code: 'publish_failed',
          hint: 'Run again: publishing needs no request. What was synced is committed in the state folder.',
          context: { path: lake.path },
        });
    }
    const about = quoteLiteral(JSON.stringify({ generation }));
    await database.run(
      `CALL ducklake_set_commit_message(${quoteLiteral(LAKE)}, ${quoteLiteral(AUTHOR)}, ${quoteLiteral(`run ${runId}`)}, extra_info => ${about})`,
    );
  }
}

function listColumns({ columns }: StoredTable): string {
  return columns.map(({ name }) => quoteIdentifier(name)).join(', ');
}

/** Whether a column got another type or went away: files would keep values of a dropped column, and may not. */
function isRetyped({ columns }: StoredTable, before: HeldTable): boolean {
  return before.columns.some(
    ({ name, storedAs }) => columns.find((one) => one.name === name)?.storedAs !== storedAs,
  );
}

/** For tables whose columns have kept their types. */
function describeColumnChanges({ columns }: StoredTable, before: HeldTable): readonly string[] {
  return columns
    .filter(({ name }) => !before.columns.some((one) => one.name === name))
    .map(({ name, storedAs }) => `ADD COLUMN ${quoteIdentifier(name)} ${storedAs}`);
}

/** The error of a table of somebody else in the place of ours. */
export function describeTaken(path: string, table: string): PublishError {
  return new PublishError(
    `${path} has a table ${table} that Sluice did not make; nothing is written into it`,
    {
      code: 'publish_refused',
      hint: 'Name another schema in destination.ducklake.schema, or rename that table. Nothing was changed.',
      context: { path },
      exitCode: 2,
    },
  );
}
