import { quoteIdentifier, quoteLiteral } from '../warehouse/identifiers.ts';
import type { Dialect, View, ViewTable } from './view.ts';

/** How complete and how fresh each stream is, or each slice of one. */
export function planHealthView(tables: readonly ViewTable[], dialect: Dialect, isJoint: boolean): View {
  const state = (name: string) => dialect.locate('_sluice', name);
  const scan = isJoint ? ['account', 'stream', 'slice'] : ['stream', 'slice'];
  const listOf = (alias: string, names: readonly string[]) =>
    names.map((name) => `${alias}.${name}`).join(', ');
  const list = (alias: string) => listOf(alias, scan);
  const same = (left: string, right: string, names = scan) =>
    names.map((name) => `${left}.${name} = ${right}.${name}`).join(' AND ');
  const run = isJoint ? ['account', 'run_id'] : ['run_id'];
  const stream = isJoint ? ['account', 'stream'] : ['stream'];
  // A scan that went without the count makes an earlier one old.
  // Nor does it say anything of the rows that are left of a whole stream which is read in slices now.
  const inApi = `CASE WHEN d.stream IS NULL AND ${dialect.readMember('c.counts', 'uncountedAt')} IS NULL THEN ${dialect.readMember('c.counts', 'inApi')} END`;
  const countedAt = dialect.readMember('c.counts', 'at');
  // What a full scan declared holds until a newer scan adds rows.
  const isNewest = 'f.run_id = l.run_id AND d.stream IS NULL';
  // In `scans`: a slice that left the config, and whose rows are gone, is only in earlier runs of its stream.
  return {
    schema: '_sluice',
    name: 'health',
    about: 'the health of each stream',
    holds: [
      'One row per stream, or per slice of one: verdict, last verified scan, rows in the API and in the table, and since when the oldest row waits for a scan that verifies it',
    ],
    select: `WITH unproved AS (
      SELECT DISTINCT ${list('s')}, s.run_id, c.whole_at FROM ${state('stream_runs')} AS s LEFT JOIN ${state('checkpoints')} AS c ON ${same('s', 'c')}
        WHERE s.verdict IN ('unverified', 'drifted', 'partial')),
    counted AS (${tables.length === 0 ? emptyCount(scan) : tables.map((table) => countTable(table, dialect, isJoint)).join(' UNION ALL ')}),
    newest AS (SELECT ${listOf('s', run)}, s.stream, row_number() OVER (PARTITION BY ${listOf('s', stream)} ORDER BY r.started_at DESC NULLS LAST, s.run_id DESC) AS nth
      FROM ${state('stream_runs')} AS s LEFT JOIN ${state('runs')} AS r ON ${same('s', 'r', run)} WHERE coalesce(s.mode, '') NOT IN ('rebuild', 'retry', 'state')),
    scans AS (SELECT ${list('c')} FROM ${state('checkpoints')} AS c UNION SELECT ${list('t')} FROM counted AS t
      UNION SELECT ${list('s')} FROM ${state('stream_runs')} AS s JOIN newest AS w ON ${same('s', 'w', [...run, 'stream'])} AND w.nth = 1),
    divided AS (SELECT DISTINCT ${listOf('s', stream)} FROM ${state('stream_runs')} AS s
      JOIN newest AS w ON ${same('s', 'w', [...run, 'stream'])} AND w.nth = 1 WHERE s.slice <> ''),
    kept AS (SELECT ${list('q')}, count(*) AS records FROM ${state('quarantine')} AS q GROUP BY ${list('q')}),
    numbered AS (SELECT s.*, row_number() OVER (PARTITION BY ${list('s')} ORDER BY s.started_at DESC NULLS LAST, s.run_id DESC) AS nth,
      row_number() OVER (PARTITION BY ${list('s')}, s.mode = 'full' AND s.status = 'complete' ORDER BY s.started_at DESC NULLS LAST, s.run_id DESC) AS nth_full FROM ${state('stream_runs')} AS s)
    SELECT ${list('n')}, c.last_verdict AS verdict, c.last_verified_at AS verified_at,
      coalesce(CAST(${inApi} AS BIGINT), CASE WHEN ${isNewest} THEN f.rows_declared END) AS rows_in_api,
      CASE WHEN ${inApi} IS NOT NULL THEN CAST(${countedAt} AS TIMESTAMP WITH TIME ZONE) WHEN ${isNewest} THEN f.started_at END AS counted_at,
      coalesce(t.live, 0) AS rows_in_table, coalesce(k.records, 0) AS rows_in_quarantine, t.unproved_since,
      l.run_id AS last_run_id, r.started_at AS last_run_at, l.status AS last_status, r.exit_code AS last_exit_code
    FROM scans AS n LEFT JOIN ${state('checkpoints')} AS c ON ${same('n', 'c')}
      LEFT JOIN counted AS t ON ${same('n', 't')} LEFT JOIN kept AS k ON ${same('n', 'k')}
      LEFT JOIN divided AS d ON ${same('n', 'd', stream)} AND n.slice = ''
      LEFT JOIN numbered AS l ON ${same('n', 'l')} AND l.nth = 1
      LEFT JOIN numbered AS f ON ${same('n', 'f')} AND f.nth_full = 1 AND f.mode = 'full' AND f.status = 'complete'
      LEFT JOIN ${state('runs')} AS r ON ${same('l', 'r', run)}`,
  };
}

function emptyCount(scan: readonly string[]): string {
  const names = scan.map((name) => `CAST(NULL AS VARCHAR) AS ${name}`).join(', ');
  return `SELECT ${names}, CAST(NULL AS BIGINT) AS live, CAST(NULL AS TIMESTAMP WITH TIME ZONE) AS unproved_since WHERE false`;
}

/** Live rows of each slice of a table, and since when the oldest of them waits for a scan that verifies it. */
function countTable({ name, columns, account }: ViewTable, dialect: Dialect, isJoint: boolean): string {
  const slice = columns.has('_slice') ? `coalesce(t._slice, '')` : `''`;
  const label = isJoint && account !== undefined ? `t.${quoteIdentifier(account)}` : undefined;
  const stream = quoteLiteral(name);
  const owned = label === undefined ? '' : `AND u.account = ${label}`;
  const groups = [...(label === undefined ? [] : [label]), ...(columns.has('_slice') ? [slice] : [])];
  const live = columns.has('_deleted_at') ? 'WHERE t._deleted_at IS NULL' : '';
  // A table that has not these columns was not made by a sync.
  const isOurs = columns.has('_run_id') && columns.has('_synced_at');
  const waits = isOurs
    ? 'min(CASE WHEN u.run_id IS NOT NULL THEN t._synced_at END)'
    : 'CAST(NULL AS TIMESTAMP WITH TIME ZONE)';
  const joined = isOurs
    ? `LEFT JOIN unproved AS u ON u.stream = ${stream} AND u.slice = ${slice} AND u.run_id = t._run_id
        ${owned} AND (u.whole_at IS NULL OR t._synced_at > u.whole_at)`
    : '';
  return `SELECT ${label === undefined ? '' : `${label} AS account, `}${stream} AS stream, ${slice} AS slice, count(*) AS live,
        ${waits} AS unproved_since
      FROM ${dialect.locate('main', name)} AS t ${joined} ${live} ${groups.length === 0 ? '' : `GROUP BY ${groups.join(', ')}`}`;
}
