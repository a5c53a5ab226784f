import type { SqlSession } from '../src/model/sql.ts';
import { writeMeta } from './migrations.ts';

/** The key of `_sluice.meta` that is there while the work file has to be rewritten. */
export const REWRITE = 'rewrite';

/** Has the work file rewritten before it is published next: values that left it are still among its bytes. */
export async function scheduleCompaction(session: SqlSession): Promise<void> {
  await writeMeta(session, REWRITE, 'due');
}
