import { PublishError } from '../../model/errors.ts';
import type { RelationComments } from '../../model/dictionary.ts';
import type { Stream } from '../../model/stream.ts';
import type { Lease } from '../../model/state-lock.ts';
import type { Database } from '../../warehouse/database.ts';
import { quoteIdentifier } from '../../warehouse/identifiers.ts';
import { describeHashes } from '../stored-values.ts';
import { findChangedParts, recordParts } from './changed-parts.ts';
import {
  type HeldTable,
  type HeldTables,
  holds,
  readCommit,
  readHeldTables,
  touchAll,
} from './held-tables.ts';
import { changeRows, fillTable, type RowsChange } from './change-rows.ts';
import type { Lakehouse, StoredTable, TableWrites } from './lakehouse.ts';
import { type LakePlace, locateInLake, nameInLake, nameSchema, OWN_TABLES, toLakeSchema } from './names.ts';
import { createRecords, repairRecords } from './own-tables.ts';
import type { ChangedParts } from './rows.ts';
import { describeTaken } from './describe-failure.ts';
import { proveTable } from './prove-table.ts';
import { ViewsPublish } from './publish-views.ts';
import { assertNotOvertaken } from './take-over-tables.ts';
import { createCommit } from './create-commit.ts';
import { moveComments } from './stored-comments.ts';
import { StuckTableError } from './stuck-table.ts';
import { listStoredTables } from './stored-tables.ts';

/** What is published to a lakehouse. */
export interface PublishJob {
  /** Open on the work file and the lakehouse. */
  readonly database: Database;
  readonly lakehouse: Lakehouse;
  readonly streams: readonly Stream[];
  /** Entries of `meta` that say whose rows these are. */
  readonly owner: ReadonlyMap<string, string>;
  readonly generation: string;
  readonly runId: string;
  readonly nowMs: number;
  /** Also rows that nobody seems to have changed. */
  readonly comparesAll: boolean;
  /** See `Commit`. */
  readonly look: (generation: string | undefined) => Promise<void>;
  readonly lease: Lease | undefined;
  /** Of the tables of the work file. */
  readonly comments: readonly RelationComments[];
  readonly warn: (message: string) => void;
}

/** What a publish changed. */
export interface TablesChange {
  /** Tables that were compared or changed, by name; undefined if it was there already. */
  readonly tables: ReadonlyMap<string, TableWrites> | undefined;
  readonly inserted: number;
  readonly deleted: number;
  /** Epoch ms; that of the first publish before any. */
  readonly maintainedAtMs: number;
}

/**
 * Makes the tables of a lakehouse equal to those of the work file, in one transaction of it. Rows are compared by
 * value, part by part; parts whose checksum is unchanged are not read there.
 */
export function publishTables(job: PublishJob): Promise<TablesChange> {
  return job.database.transaction(() => new TablesPublish(job).run());
}

class TablesPublish {
  readonly #job: PublishJob;
  #inserted = 0;
  #deleted = 0;
  /** Statements that changed rows, by table. */
  readonly #writes = new Map<string, number>();
  #interference: ReadonlyMap<string, string> = new Map();

  constructor(job: PublishJob) {
    this.#job = job;
  }

  async run(): Promise<TablesChange> {
    const { database, lakehouse, streams, generation, nowMs, comparesAll, look, lease } = this.#job;
    await lakehouse.begin?.(database, lease);
    const found = await readHeldTables(database, lakehouse);
    const held = found && comparesAll ? touchAll(found) : found;
    assertNotOvertaken(lakehouse, held?.fence, lease);
    await look(held?.generation);
    const maintainedAtMs = held?.maintainedAtMs ?? nowMs;
    if (holds(held, generation)) return { tables: undefined, inserted: 0, deleted: 0, maintainedAtMs };
    if (held?.generation === undefined) await this.#create(held);
    else if (await repairRecords(database, this.#place)) await this.#endStep();
    const tables = await listStoredTables(database, lakehouse, { streams, held });
    const views = lakehouse.views && new ViewsPublish(database, lakehouse, lakehouse.views, this.#job.warn);
    await views?.prepare(tables);
    this.#interference = (await lakehouse.findInterference?.(database)) ?? new Map();
    const changed = await findChangedParts(database, this.#own(OWN_TABLES.parts), tables);
    const due = new Map<string, TableWrites>();
    for (const table of tables) {
      const writes = await this.#publish(table, held?.tables.get(table.name), changed);
      if (writes !== undefined) due.set(table.name, writes);
    }
    await this.#dropOthers(tables, held);
    await this.#comment(tables);
    await views?.create();
    await recordParts(database, this.#own(OWN_TABLES.parts));
    await this.#endStep();
    await lease?.confirm();
    await this.#recordCommit(held);
    return { tables: due, inserted: this.#inserted, deleted: this.#deleted, maintainedAtMs };
  }

  /** What was written to the table, if it had to be compared or to change. */
  async #publish(
    table: StoredTable,
    before: HeldTable | undefined,
    changed: ReadonlyMap<string, ChangedParts | undefined>,
  ): Promise<TableWrites | undefined> {
    const { database, lakehouse } = this.#job;
    const hasOtherParts = changed.has(table.name);
    const isEmpty = await this.#shape(table, before);
    if (isEmpty) await this.#fill(table);
    else if (before?.isTouched === true) await this.#change(table, undefined);
    else if (hasOtherParts) await this.#change(table, changed.get(table.name));
    const hasChanged = isEmpty || before?.isTouched === true || hasOtherParts;
    if (!hasChanged) return undefined;
    const interference = this.#interference.get(table.name);
    await proveTable({ database, lakehouse, interference }, table, () => this.#change(table, undefined));
    await this.#endStep();
    const wasThere = before !== undefined && before.found !== 'gone';
    return {
      seen: wasThere ? before.seen : undefined,
      // Whether emptying it removed rows is not known.
      statements: isEmpty && wasThere ? undefined : (this.#writes.get(table.name) ?? 0),
    };
  }

  /** Where each table is committed alone, all of one step are there before the next one, and the commit's name is last. */
  async #endStep(): Promise<void> {
    const { database, lakehouse, lease } = this.#job;
    if (lakehouse.commitsTogether) return;
    await lease?.confirm();
    await database.run('COMMIT');
    await database.run('BEGIN TRANSACTION');
  }

  #own(table: string): string {
    return nameInLake(this.#place, '_sluice', table);
  }

  get #place(): LakePlace {
    return this.#job.lakehouse.destination;
  }

  /** The commit's table is first: what has it is ours. */
  async #create(held: HeldTables | undefined): Promise<void> {
    const { database, lakehouse, owner, runId, nowMs } = this.#job;
    if (held === undefined) {
      await createCommit(database, lakehouse, { owner, runId, nowMs });
      await this.#endStep();
    }
    await createRecords(database, this.#place);
    await this.#endStep();
  }

  /** Gives a table the columns and partitions that it should have; true if it is empty now. */
  async #shape(table: StoredTable, before: HeldTable | undefined): Promise<boolean> {
    const { database, lakehouse } = this.#job;
    const columns = JSON.stringify(table.columns);
    if (
      before?.found === 'as published' &&
      JSON.stringify(before.columns) === columns &&
      before.partitions === table.partitions
    )
      return false;
    if (before === undefined) await this.#refuseTaken(table);
    else if (before.found !== 'gone' && (await lakehouse.isStuck?.(database, table)) === true)
      throw new StuckTableError(table.name);
    // First: a table that is not listed as ours would be taken for one of others.
    await database.run(`DELETE FROM ${this.#own(OWN_TABLES.tables)} WHERE name = $1`, [table.name]);
    await database.run(`INSERT INTO ${this.#own(OWN_TABLES.tables)} VALUES ($1, $2, $3)`, [
      table.name,
      columns,
      table.partitions,
    ]);
    await this.#endStep();
    await lakehouse.prepareColumns?.(database, table);
    const isEmptied = before?.found !== 'as published' || losesColumns(table, before);
    // Another program may have dropped the schema with the table.
    if (before?.found === 'gone')
      await database.run(`CREATE SCHEMA IF NOT EXISTS ${nameSchema(this.#place, table.schema)}`);
    if (isEmptied) await lakehouse.makeEmpty(database, table, before);
    else await this.#addColumns(table, before);
    if (table.partitions !== (isEmptied ? '' : before.partitions))
      await lakehouse.partition?.(database, table);
    return isEmptied;
  }

  async #addColumns(table: StoredTable, before: HeldTable): Promise<void> {
    const { database, lakehouse } = this.#job;
    const name = nameInLake(this.#place, table.schema, table.table);
    for (const column of table.columns) {
      if (before.columns.some((one) => one.name === column.name)) continue;
      if (lakehouse.addColumn !== undefined) await lakehouse.addColumn(database, table, column);
      else
        await database.run(
          `ALTER TABLE ${name} ADD COLUMN ${quoteIdentifier(column.name)} ${column.storedAs}`,
        );
    }
  }

  async #refuseTaken({ schema, table }: StoredTable): Promise<void> {
    const { database, lakehouse } = this.#job;
    const inLakeAs = toLakeSchema(this.#place.schema, schema);
    const [taken] = await lakehouse.findTaken(database, inLakeAs, [table]);
    if (taken !== undefined) throw describeTaken(lakehouse, `${inLakeAs}.${taken}`);
  }

  #count(table: StoredTable, { inserted, deleted }: RowsChange): void {
    this.#inserted += inserted;
    this.#deleted += deleted;
    const before = this.#writes.get(table.name) ?? 0;
    this.#writes.set(table.name, before + Math.sign(inserted) + Math.sign(deleted));
  }

  async #fill(table: StoredTable): Promise<void> {
    this.#count(table, await fillTable(this.#job.database, this.#place, table));
  }

  async #change(table: StoredTable, parts: ChangedParts | undefined): Promise<void> {
    this.#count(table, await changeRows(this.#job.database, this.#place, table, parts));
  }

  async #comment(tables: readonly StoredTable[]): Promise<void> {
    const { database, lakehouse, comments } = this.#job;
    if (lakehouse.comment === undefined) return;
    const names = new Set(tables.map(({ name }) => name));
    await lakehouse.comment(database, moveComments(comments, this.#place, names));
  }

  /** Drops tables that the work file no longer has. */
  async #dropOthers(tables: readonly StoredTable[], held: HeldTables | undefined): Promise<void> {
    const { database } = this.#job;
    const names = new Set(tables.map(({ name }) => name));
    for (const name of held?.tables.keys() ?? []) {
      if (names.has(name)) continue;
      await database.run(`DROP TABLE IF EXISTS ${locateInLake(this.#place, name)}`);
      await database.run(`DELETE FROM ${this.#own(OWN_TABLES.tables)} WHERE name = $1`, [name]);
    }
  }

  /** Names the commit. Of two that publish at the same time, one fails here or when it commits. */
  async #recordCommit(held: HeldTables | undefined): Promise<void> {
    const { database, lakehouse, generation, runId, lease } = this.#job;
    const { path } = lakehouse.destination;
    const commit = this.#own(OWN_TABLES.commit);
    const hashes = await describeHashes(database);
    // Where each table is committed alone, this transaction is not the one that read the token.
    const [set, where] =
      lease === undefined || held?.fence === undefined
        ? ['', '']
        : [`, token = ${lease.token}`, `AND token <= ${lease.token}`];
    const changed = await database.count(
      `UPDATE ${commit} SET generation = $1, run_id = $2, hashes = $3${set} WHERE generation IS NOT DISTINCT FROM $4 ${where}`,
      [generation, runId, hashes, held?.generation ?? null],
    );
    if (changed !== 1 && lease !== undefined)
      assertNotOvertaken(lakehouse, (await readCommit(database, lakehouse))?.fence, lease);
    if (changed !== 1)
      throw new PublishError(`${path}: another run published at the same time`, {
        code: 'publish_failed',
        hint: 'Run again: publishing needs no request. What was synced is committed in the state folder.',
        context: { path },
      });
    await lakehouse.sign?.(database, { generation, runId });
    await lakehouse.record?.(database);
  }
}

/**
 * Whether a column got another type or went away: files would keep values of a dropped column, and may not. Values of the
 * former type may not be readable as the new one, also where both are stored as the same.
 */
function losesColumns({ columns }: StoredTable, before: HeldTable): boolean {
  return before.columns.some(({ name, type, storedAs }) => {
    const now = columns.find((one) => one.name === name);
    return now?.type !== type || now.storedAs !== storedAs;
  });
}
