import type { SqlSession } from '../src/model/sql.ts';
import { insertRows } from './insert-rows.ts';

/** What the elements of a stream's arrays have shown, packed, by column. */
export type LearnedElements = ReadonlyMap<string, string>;

/** Reads what was learned of a stream's columns; a column without an entry was never looked at. */
export async function readElements(session: SqlSession, stream: string): Promise<LearnedElements> {
  const rows = await session.all('SELECT column_name, fields FROM _sluice.elements WHERE stream = $1', [
    stream,
  ]);
  return new Map(rows.map((row) => [String(row['column_name']), String(row['fields'])]));
}

/** Replaces it; call in the transaction that wrote the rows. */
export async function writeElements(
  session: SqlSession,
  stream: string,
  learned: LearnedElements,
  runId: string,
): Promise<void> {
  await forgetElements(session, stream);
  await insertRows(
    session,
    '_sluice.elements',
    ['VARCHAR', 'VARCHAR', 'VARCHAR', 'VARCHAR'],
    [...learned].map(([column, fields]) => [stream, column, fields, runId]),
  );
}

/** Forgets it: what the rows that are left show is then learned again. */
export async function forgetElements(session: SqlSession, stream: string): Promise<void> {
  await session.run('DELETE FROM _sluice.elements WHERE stream = $1', [stream]);
}
