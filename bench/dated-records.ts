import { makeRecord } from './records.ts';

/** Days a large table reaches back; the newest two hold one in a hundred of its rows. */
export const DAYS = 200;

const DAY_MS = 86_400_000;

/** The dates of the days, oldest first; yesterday is the newest, so that nothing is dated ahead. */
export function daysOf(today: Date): readonly string[] {
  return Array.from({ length: DAYS }, (_, at) =>
    new Date(today.getTime() - (DAYS - at) * DAY_MS).toISOString().slice(0, 10),
  );
}

/** A record of a table of so many rows, dated by its id; a restated one has other numbers. */
export function makeDatedRecord(
  id: number,
  rows: number,
  days: readonly string[],
  { mode, version }: { readonly mode: string; readonly version: number },
): string {
  const day = days[Math.floor((id * DAYS) / rows)] ?? '';
  const record = makeRecord(id, version, day);
  // A restatement anywhere in the table can only be asked for by the time of the change.
  return mode === 'scattered'
    ? record.replace(/"observedAt":"[^T]*T/, `"observedAt":"${days.at(-1) ?? ''}T`)
    : record;
}

/**
 * A SELECT of the rows that a first sync makes of the records with ids from 0 up to `before`, by the names of
 * the table's columns. Its run is that of the rows that are there.
 */
export function selectDatedRows(before: number, rows: number, days: readonly string[]): string {
  const day = `(DATE '${days[0] ?? ''}' + (id * ${DAYS} // ${rows})::INTEGER)`;
  return `SELECT 'rec-' || lpad(id::VARCHAR, 9, '0') AS id, ${day} AS date, 'topic-' || (id % 977) AS topic_id,
    ['acme', 'globex', 'initech'][1 + id % 3] AS entity, (id * 7) % 1000 AS mentions,
    ((id * 31) % 10000) / 10000 AS visibility, CASE WHEN id % 11 = 0 THEN NULL ELSE id % 50 END AS rank,
    (${day}::VARCHAR || 'T0' || (id % 10) || ':15:30Z')::TIMESTAMPTZ AS observed_at, id % 2 = 0 AS is_branded,
    'model-' || (id % 5) AS meta__model, ['eu', 'us', 'apac'][1 + id % 3] AS meta__region,
    (id % 1000) / 8 AS meta__score, '["tag-' || (id % 17) || '","tag-' || (id % 19) || '"]' AS tags,
    first.answer AS answer, first._run_id AS _run_id, first._synced_at AS _synced_at
  FROM range(0, ${before}) ids(id), (SELECT answer, _run_id, _synced_at FROM main.items LIMIT 1) first`;
}
