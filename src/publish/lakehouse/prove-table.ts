import { quoteLiteral } from '../../warehouse/identifiers.ts';
import type { Database } from '../../warehouse/database.ts';
import { describeInterference, describeOtherCount } from './describe-failure.ts';
import type { Lakehouse, StoredTable } from './lakehouse.ts';
import { nameThere } from './names.ts';
import { compareRows } from './change-rows.ts';
import { inLake } from './rows.ts';

/** Where a table was written. */
interface WrittenTo {
  readonly database: Database;
  readonly lakehouse: Lakehouse;
  /** What may change rows there while they are written, e.g. `the trigger t`. */
  readonly interference: string | undefined;
}

/**
 * Proves that a table has the rows that were synced: a change that left rows behind, whatever the cause, is made again for
 * all rows. Where something there may change rows as they are written, all of them are compared by value.
 *
 * @throws PublishError (6), so that nothing is committed
 */
export async function proveTable(
  { database, lakehouse, interference }: WrittenTo,
  table: StoredTable,
  changeAgain: () => Promise<void>,
): Promise<void> {
  const place = lakehouse.destination;
  const { from } = inLake(table, place);
  const wanted = await database.count(
    `SELECT coalesce(sum(rows), 0)::BIGINT FROM sluice_parts WHERE name = ${quoteLiteral(table.name)}`,
  );
  const count = () => database.count(`SELECT count(*) FROM ${from}`);
  const name = nameThere(place.schema, table.name);
  if ((await count()) !== wanted) {
    await changeAgain();
    const rows = await count();
    if (rows !== wanted)
      throw interference === undefined
        ? describeOtherCount(lakehouse, name, { rows, wanted })
        : describeInterference(lakehouse, name, interference);
  }
  if (interference !== undefined && (await compareRows(database, place, table)) > 0)
    throw describeInterference(lakehouse, name, interference);
}
