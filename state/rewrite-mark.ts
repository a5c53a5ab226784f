import type { SqlSession } from '../src/model/sql.ts';
import { readMeta, writeMeta } from './migrations.ts';

/** The key in `_sluice.meta` while the work file needs to be rewritten. */
export const REWRITE = 'rewrite';

/** Its value if values were masked: other files of the state folder may hold them, too. */
export const MASKED = 'masked';

/** Has the work file rewritten before the next publish: its bytes still contain removed values. */
export async function scheduleCompaction(session: SqlSession): Promise<void> {
  if (!(await readMeta(session)).has(REWRITE)) await writeMeta(session, REWRITE, 'due');
}

/** The same, and has the files forgotten that may hold values which are masked now. */
export async function scheduleForgetting(session: SqlSession): Promise<void> {
  await writeMeta(session, REWRITE, MASKED);
}
