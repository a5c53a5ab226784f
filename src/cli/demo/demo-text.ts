import type { RunReport } from '../../model/run-report.ts';
import type { Paint } from '../../render/screen.ts';
import { quoteForShell } from '../options/quote-for-shell.ts';
import { formatCount } from '../../text/format-count.ts';
import { drawTable } from '../../render/table.ts';
import { DEMO_QUERY } from './demo-query.ts';

/** A heading of the demo's story. */
export function writeHeading(text: string, paint: Paint): string {
  return `${paint('bold', text)}\n`;
}

/** What the second day changed, table by table. */
export function describeDays(first: RunReport, second: RunReport): string {
  const before = new Map(first.streams.map(({ stream, rowsInTable }) => [stream, rowsInTable]));
  return drawTable(
    [
      { title: 'TABLE' },
      { title: 'FIRST DAY', align: 'right' },
      { title: 'NEXT DAY', align: 'right' },
      { title: 'NEW', align: 'right' },
      { title: 'CHANGED', align: 'right' },
    ],
    second.streams.map(({ stream, table, rowsInTable, rows }) => [
      table,
      formatCount(before.get(stream)),
      formatCount(rowsInTable),
      formatCount(rows.inserted),
      formatCount(rows.updated),
    ]),
  );
}

/** What to try after the demo. */
export function describeNextSteps(file: string, configPath: string): string {
  const query = 'from _sluice.runs';
  const config = quoteForShell(configPath);
  return [
    `The file: ${file}`,
    '',
    'Open it in Python, while a sync runs or not:',
    '  import duckdb',
    `  con = duckdb.connect(${JSON.stringify(file)}, read_only=True)`,
    '  con.sql("from visibility_mentions limit 5")',
    '',
    'Look around:',
    `  npx sluice status -c ${config}`,
    `  npx sluice query "${query}" -c ${config}`,
    '',
    'With your own API:',
    '  npx sluice init',
    '  export ANALYTICS_API_KEY=...',
    '  npx sluice check && npx sluice sync',
  ].join('\n');
}

/** The demo's query with its result. */
export function describeQuery(resultTable: string): string {
  const lines = [...DEMO_QUERY.split('\n'), '', ...resultTable.trimEnd().split('\n')];
  return lines.map((line) => `  ${line}`.trimEnd()).join('\n');
}
