import type { SqlSession } from '../model/sql.ts';

/** Runs work while the engine uses one thread, for what is not safe on several. */
export async function onOneThread<T>(session: SqlSession, work: () => Promise<T>): Promise<T> {
  const [row] = await session.all(`SELECT current_setting('threads') AS threads`);
  await session.run('SET threads = 1');
  try {
    return await work();
  } finally {
    await session.run(`SET threads = ${Number(row?.['threads'])}`);
  }
}
