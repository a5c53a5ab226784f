import { existsSync } from 'node:fs';
import { parseCorrectedTimes } from '../../state/corrected-times.ts';
import { readMeta } from '../../state/migrations.ts';
import type { SqlSession } from '../model/sql.ts';
import type { Database } from '../warehouse/database.ts';
import { lookInto } from '../warehouse/look-into.ts';
import type { Lineage } from './publisher.ts';

/** The commits of an open file. */
export async function readLineage(database: Database): Promise<Lineage> {
  const meta = await readMeta(database);
  return {
    generation: meta.get('generation'),
    runs: await readRuns(database, '_sluice.runs'),
    corrected: parseCorrectedTimes(meta),
  };
}

/** The commits that a table of runs lists. */
export async function readRuns(session: SqlSession, table: string): Promise<Lineage['runs']> {
  const rows = await session.all(`SELECT run_id, epoch_ms(started_at) AS ms FROM ${table}`);
  return new Map(rows.map((row) => [String(row['run_id']), Number(row['ms'])]));
}

/** The commits of a published file; none if it is missing or cannot be read. */
export async function readFileLineage(file: string): Promise<Lineage> {
  const found = existsSync(file) ? await lookInto(file, readLineage) : undefined;
  return found ?? { generation: undefined, runs: new Map() };
}

/** The run that made a commit. Format: the run's id, a space and twelve digits. */
export function toRunId(generation: string): string {
  return generation.slice(0, -13);
}
