import type { MotherDuckDestination } from '../../../model/destination.ts';
import type { SqlSession } from '../../../model/sql.ts';
import { describeHashes } from '../../stored-values.ts';
import { compareTables } from '../engine-tables.ts';
import type { Inspection, Recorded, StoredColumn } from '../lakehouse.ts';
import { nameInLake, OWN_TABLES, splitName } from '../names.ts';
import { inLake } from '../rows.ts';

/** What the rows of a table come to: how many there are, and the sum of their hashes. */
interface Checksum {
  readonly rows: number;
  readonly sum: string;
}

/**
 * Compares columns, and the checksum of all rows with the one that was published: the service has no count of what was
 * written to a table. The rows are read where they are, if the service computes hashes as the engine does; otherwise all
 * of them are compared with each publish.
 */
export async function inspectMotherDuck(
  session: SqlSession,
  destination: MotherDuckDestination,
  { generation, tables }: Recorded,
): Promise<Inspection> {
  const found = await compareTables(session, destination, tables);
  if (generation === undefined || [...found.values()].some((one) => one !== 'as published'))
    return { found, touched: new Set(tables.keys()) };
  const left = await readChecksums(session, destination);
  const touched = new Set<string>();
  for (const [name, { columns }] of tables) {
    const { rows, sum } = await sumRows(session, destination, { name, columns });
    const before = left?.get(name) ?? { rows: 0, sum: '0' };
    if (left === undefined || rows !== before.rows || sum !== before.sum) touched.add(name);
  }
  return { found, touched };
}

async function sumRows(
  session: SqlSession,
  destination: MotherDuckDestination,
  { name, columns }: { readonly name: string; readonly columns: readonly StoredColumn[] },
): Promise<Checksum> {
  const [schema, table] = splitName(name);
  const stored = { name, schema, table, columns, partitions: '', datedBy: undefined };
  const { from, hash } = inLake(stored, destination);
  const [row] = await session.all(
    `SELECT count(*) AS rows, coalesce(sum(${hash}), 0)::VARCHAR AS sum FROM ${from}`,
  );
  return { rows: Number(row?.['rows']), sum: String(row?.['sum']) };
}

/** Those that were published; undefined if another version of the engine computed them. */
async function readChecksums(
  session: SqlSession,
  destination: MotherDuckDestination,
): Promise<ReadonlyMap<string, Checksum> | undefined> {
  const commit = nameInLake(destination, '_sluice', OWN_TABLES.commit);
  const [held] = await session.all(`SELECT hashes FROM ${commit}`);
  if (held?.['hashes'] !== (await describeHashes(session))) return undefined;
  const rows = await session.all(
    `SELECT name, sum(rows)::BIGINT AS rows, coalesce(sum(sum::HUGEINT), 0)::VARCHAR AS sum
       FROM ${nameInLake(destination, '_sluice', OWN_TABLES.parts)} GROUP BY name`,
  );
  return new Map(
    rows.map(({ name, rows: count, sum }) => [String(name), { rows: Number(count), sum: String(sum) }]),
  );
}
