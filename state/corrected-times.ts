import { z } from 'zod';
import type { SqlSession } from '../src/model/sql.ts';
import { readMeta, writeMeta } from './migrations.ts';

/** The entry of `_sluice.meta`. */
const CORRECTED = 'corrected_times';
const entrySchema = z.array(z.iso.datetime());
const MOST_KEPT = 50;

/** Times (ms) that later ones of a state were set to, once the clock that had recorded them was right again. */
export function parseCorrectedTimes(meta: ReadonlyMap<string, string>): ReadonlySet<number> {
  return new Set(readEntry(meta).map((time) => Date.parse(time)));
}

/** Adds a time (ISO); call in the transaction that sets later ones to it. */
export async function addCorrectedTime(session: SqlSession, time: string): Promise<void> {
  const times = [...readEntry(await readMeta(session)), time].slice(-MOST_KEPT);
  await writeMeta(session, CORRECTED, JSON.stringify(times));
}

/** An entry that Sluice did not write says nothing. */
function readEntry(meta: ReadonlyMap<string, string>): readonly string[] {
  try {
    return entrySchema.parse(JSON.parse(meta.get(CORRECTED) ?? '[]'));
  } catch {
    return [];
  }
}
