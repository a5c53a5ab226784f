import type { MotherDuckDestination } from '../../../model/destination.ts';
import type { RelationComments } from '../../../model/dictionary.ts';
import type { SqlSession } from '../../../model/sql.ts';
import type { Database } from '../../../warehouse/database.ts';
import { createAgain, listTaken } from '../engine-tables.ts';
import type {
  FoundTable,
  Inspection,
  Lakehouse,
  LakehouseAccess,
  Recorded,
  StoredTable,
  Upkeep,
} from '../lakehouse.ts';
import { writeComments } from '../../../warehouse/comments.ts';
import { describeMotherDuckFailure } from './describe-motherduck-failure.ts';
import { inspectMotherDuck } from './inspect-motherduck.ts';
import { openMotherDuck } from './open-motherduck.ts';

/** Tables in a database of MotherDuck: the engine's own tables, with the types of the work file. */
export class MotherDuck implements Lakehouse {
  readonly title = 'MotherDuck';
  readonly isPartitioned = false;
  readonly commitsTogether = true;
  readonly holdsHuge = true;
  readonly destination: MotherDuckDestination;
  readonly upkeep: Upkeep = {
    by: 'itself',
    leftovers:
      'MotherDuck keeps earlier states of a database for as long as its retention says (docs/lakehouse.md)',
  };

  constructor(destination: MotherDuckDestination) {
    this.destination = destination;
  }

  open(access: LakehouseAccess): Promise<Database> {
    return openMotherDuck(this.destination, access);
  }

  describeFailure(thrown: unknown): ReturnType<Lakehouse['describeFailure']> {
    return describeMotherDuckFailure(this.destination, thrown);
  }

  chooseType(type: string): string {
    return type;
  }

  findTaken(session: SqlSession, schema: string, names: readonly string[]): Promise<readonly string[]> {
    return listTaken(session, { ...this.destination, schema }, names);
  }

  inspect(session: SqlSession, recorded: Recorded): Promise<Inspection> {
    return inspectMotherDuck(session, this.destination, recorded);
  }

  makeEmpty(session: SqlSession, table: StoredTable, before: FoundTable | undefined): Promise<void> {
    return createAgain(session, this.destination, { ...table, before });
  }

  async comment(session: SqlSession, wanted: readonly RelationComments[]): Promise<void> {
    await writeComments(session, wanted, { database: this.destination.database });
  }
}
