import { existsSync } from 'node:fs';
import { readMeta } from '../../state/migrations.ts';
import type { Database } from '../warehouse/database.ts';
import { lookInto } from '../warehouse/look-into.ts';
import type { Lineage } from './publisher.ts';

/** The commits of an open file. */
export async function readLineage(database: Database): Promise<Lineage> {
  const rows = await database.all('SELECT run_id, epoch_ms(started_at) AS ms FROM _sluice.runs');
  return {
    generation: (await readMeta(database)).get('generation'),
    runs: new Map(rows.map((row) => [String(row['run_id']), Number(row['ms'])])),
  };
}

/** The commits of a published file; none if it is missing or cannot be read. */
export async function readFileLineage(file: string): Promise<Lineage> {
  const found = existsSync(file) ? await lookInto(file, readLineage) : undefined;
  return found ?? { generation: undefined, runs: new Map() };
}
