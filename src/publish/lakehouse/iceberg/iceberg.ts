import type { IcebergDestination } from '../../../model/destination.ts';
import type { SqlSession } from '../../../model/sql.ts';
import type { Database } from '../../../warehouse/database.ts';
import { quoteIdentifier } from '../../../warehouse/identifiers.ts';
import type {
  FoundTable,
  Inspection,
  Lakehouse,
  LakehouseAccess,
  LostFiles,
  Recorded,
  StoredColumn,
  StoredTable,
  TableWrites,
  Upkeep,
} from '../lakehouse.ts';
import { nameInLake, LAKE } from '../names.ts';
import { describeIcebergFailure } from './describe-iceberg-failure.ts';
import { chooseIcebergType } from './iceberg-types.ts';
import { openIceberg } from './open-iceberg.ts';
import { readMessage } from '../describe-failure.ts';
import { describeLabel, dropTables, readLabel, TABLE_LABEL } from './table-properties.ts';
import {
  describeColumns,
  hasOldSchema,
  hasTable,
  inspectIceberg,
  isSame,
  recordVersions,
} from './table-versions.ts';

const LOST = /NoSuchKey|The specified key does not exist/;

/** Tables of Iceberg behind a REST catalog. They have no partitions: the engine fails on tables that change theirs. */
export class Iceberg implements Lakehouse {
  readonly title = 'Iceberg';
  readonly isPartitioned = false;
  readonly commitsTogether: boolean;
  readonly destination: IcebergDestination;

  constructor(destination: IcebergDestination) {
    this.destination = destination;
    this.commitsTogether = destination.commitsTogether;
  }

  open(access: LakehouseAccess): Promise<Database | undefined> {
    return openIceberg(this.destination, access);
  }

  describeFailure(thrown: unknown): ReturnType<Lakehouse['describeFailure']> {
    return describeIcebergFailure(this.destination, thrown);
  }

  chooseType(type: string): string {
    return chooseIcebergType(type);
  }

  // Listing the catalog would ask for each of its namespaces.
  async findTaken(session: SqlSession, schema: string, names: readonly string[]): Promise<readonly string[]> {
    const taken: string[] = [];
    for (const name of names)
      if (await hasTable(session, [LAKE, schema, name].map(quoteIdentifier).join('.'))) taken.push(name);
    return taken;
  }

  inspect(session: SqlSession, recorded: Recorded): Promise<Inspection> {
    return inspectIceberg(session, this.destination.schema, recorded);
  }

  isStuck(session: SqlSession, { schema, table }: StoredTable): Promise<boolean> {
    return hasOldSchema(session, nameInLake(this.destination, schema, table));
  }

  /** A name cannot be dropped and created in one transaction. */
  async makeEmpty(
    session: SqlSession,
    { schema, table, columns }: StoredTable,
    before: FoundTable | undefined,
  ): Promise<void> {
    const name = nameInLake(this.destination, schema, table);
    const describe = (one: StoredColumn) => `${quoteIdentifier(one.name)} ${one.storedAs}`;
    if ((before?.found ?? 'gone') === 'gone') {
      await session.run(`CREATE TABLE ${name} (${columns.map(describe).join(', ')}) ${TABLE_LABEL}`);
      return;
    }
    const actual = (await describeColumns(session, name)) ?? [];
    const old = actual.filter((one) => !columns.some((column) => isSame(one, column)));
    for (const [at, one] of old.entries())
      await session.run(
        `ALTER TABLE ${name} RENAME COLUMN ${quoteIdentifier(one.name)} TO ${quoteIdentifier(`sluice_old_${at}`)}`,
      );
    await session.run(`DELETE FROM ${name}`);
    for (const column of columns)
      if (!actual.some((one) => isSame(one, column)))
        await session.run(`ALTER TABLE ${name} ADD COLUMN ${describe(column)}`);
    // Last: a table needs a column at any moment.
    for (const at of old.keys())
      await session.run(`ALTER TABLE ${name} DROP COLUMN ${quoteIdentifier(`sluice_old_${at}`)}`);
  }

  readonly upkeep: Upkeep = {
    by: 'another engine',
    leftovers:
      'older snapshots and files still have them until your engine expires the snapshots and removes the files (docs/lakehouse.md)',
  };

  readonly lostFiles: LostFiles = {
    isMeant: (thrown) => LOST.test(readMessage(thrown)),
    label: describeLabel,
    readOwner: (session) => readLabel(session, this.destination.schema),
    drop: (session, names) => dropTables(session, this.destination.schema, names),
  };

  settle(session: SqlSession, tables: ReadonlyMap<string, TableWrites>): Promise<void> {
    return recordVersions(session, this.destination.schema, tables);
  }
}
