import type { SqlSession } from '../src/model/sql.ts';
import { writeMeta } from './migrations.ts';

/** The key in `_sluice.meta` while the work file needs to be rewritten. */
export const REWRITE = 'rewrite';

/** Has the work file rewritten before the next publish: its bytes still contain removed values. */
export async function scheduleCompaction(session: SqlSession): Promise<void> {
  await writeMeta(session, REWRITE, 'due');
}
