import type { PostgresDestination } from '../../../model/destination.ts';
import type { RelationComments } from '../../../model/dictionary.ts';
import type { SqlSession } from '../../../model/sql.ts';
import type { Lease } from '../../../model/state-lock.ts';
import type { Database } from '../../../warehouse/database.ts';
import type {
  FoundTable,
  Inspection,
  Lakehouse,
  LakehouseAccess,
  Recorded,
  StoredColumn,
  StoredTable,
  Upkeep,
} from '../lakehouse.ts';
import { describePostgresFailure, findRefused } from './describe-postgres-failure.ts';
import { endEarlierHolders, nameHolder } from './lease-sessions.ts';
import { openPostgres } from './open-postgres.ts';
import { commentOnServer } from './server-comments.ts';
import { choosePostgresType, describeColumn, describeType, quoteName } from './postgres-types.ts';
import type { ViewKeeper } from '../view-keeper.ts';
import { keepPostgresViews } from './postgres-views.ts';
import { findInterference } from './interference.ts';
import {
  changeTables,
  execute,
  findTaken,
  holdCounters,
  inspectServer,
  locateOnServer,
  readServerTables,
  recordVersions,
} from './server-tables.ts';

/** While one statement waits for a lock, all readers of the table wait behind it. */
const LOCK_SECONDS = 30;

/** Tables in a database of Postgres. They stay the same tables while columns change: views and grants depend on them. */
export class Postgres implements Lakehouse {
  readonly title = 'Postgres';
  readonly isPartitioned = false;
  readonly commitsTogether = true;
  readonly destination: PostgresDestination;
  readonly views: ViewKeeper;
  readonly upkeep: Upkeep = {
    by: 'itself',
    leftovers:
      'the server has them on its disk until VACUUM FULL of these tables, and in its backups (docs/postgres.md)',
  };

  constructor(destination: PostgresDestination) {
    this.destination = destination;
    this.views = keepPostgresViews(destination.schema);
  }

  open(access: LakehouseAccess): Promise<Database> {
    return openPostgres(this.destination, access);
  }

  describeFailure(thrown: unknown, where?: string): ReturnType<Lakehouse['describeFailure']> {
    return describePostgresFailure(this.destination, thrown, where);
  }

  findRefused(session: SqlSession, thrown: unknown): Promise<string | undefined> {
    return findRefused(session, thrown);
  }

  async begin(session: SqlSession, lease?: Lease): Promise<void> {
    await execute(session, `SET LOCAL lock_timeout = '${LOCK_SECONDS}s'`);
    await holdCounters(session, this.destination.schema);
    if (lease !== undefined) await nameHolder(session, this.destination.schema, lease);
  }

  /** The server keeps the transaction of a paused run open, and its locks. */
  endOvertaken(session: SqlSession, lease: Lease): Promise<void> {
    return endEarlierHolders(session, this.destination.schema, lease);
  }

  chooseType(type: string): string {
    return choosePostgresType(type);
  }

  findTaken(session: SqlSession, schema: string, names: readonly string[]): Promise<readonly string[]> {
    return findTaken(session, schema, names);
  }

  findInterference(session: SqlSession): Promise<ReadonlyMap<string, string>> {
    return findInterference(session, this.destination.schema);
  }

  inspect(session: SqlSession, recorded: Recorded): Promise<Inspection> {
    return inspectServer(session, this.destination.schema, recorded);
  }

  async makeEmpty(session: SqlSession, table: StoredTable, before: FoundTable | undefined): Promise<void> {
    const { schema, path } = this.destination;
    const { name, columns } = table;
    quoteName(table.table, path);
    const located = locateOnServer(schema, name);
    const [actual] = (await readServerTables(session, schema, [name])).values();
    if (actual === undefined) {
      const list = columns.map((column) => describeColumn(column, path));
      await changeTables(session, `CREATE TABLE ${located} (${list.join(', ')})`);
      return;
    }
    const isKept = (name: string) =>
      columns.some((one) => one.name === name && describeType(one) === actual.columns.get(name));
    const ours = new Set([...columns, ...(before?.columns ?? [])].map(({ name }) => name));
    const old = [...actual.columns.keys()].filter((name) => ours.has(name) && !isKept(name));
    const changes = [
      ...old.map((name) => `DROP COLUMN ${quoteName(name, path)}`),
      ...columns.filter(({ name }) => !isKept(name)).map((one) => `ADD COLUMN ${describeColumn(one, path)}`),
    ];
    // Readers with an older snapshot would see no rows after TRUNCATE.
    await execute(session, `DELETE FROM ${located}`);
    if (changes.length > 0) await changeTables(session, `ALTER TABLE ${located} ${changes.join(', ')}`);
  }

  async addColumn(session: SqlSession, { name }: StoredTable, column: StoredColumn): Promise<void> {
    const { schema, path } = this.destination;
    const added = describeColumn(column, path);
    await changeTables(session, `ALTER TABLE ${locateOnServer(schema, name)} ADD COLUMN ${added}`);
  }

  comment(session: SqlSession, wanted: readonly RelationComments[]): Promise<void> {
    return commentOnServer(session, wanted);
  }

  record(session: SqlSession): Promise<void> {
    return recordVersions(session, this.destination.schema);
  }
}
