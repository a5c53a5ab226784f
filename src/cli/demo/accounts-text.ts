import { formatCount } from '../../text/format-count.ts';
import { quoteForShell } from '../options/quote-for-shell.ts';
import { drawFittingTable } from '../../render/fitting-table.ts';

/** What the published file of an account holds. */
export interface AccountTables {
  readonly account: string;
  /** Absolute path. */
  readonly duckdb: string;
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
}

/** Rows of each table, a column for each account. */
export function describeAccountTables(
  accounts: readonly AccountTables[],
  columns: number | undefined,
): string {
  const tables = [...new Set(accounts.flatMap(({ rows }) => Object.keys(rows)))];
  return drawFittingTable(
    [
      { title: 'TABLE' },
      ...accounts.map(({ account }) => ({ title: account.toUpperCase(), align: 'right' as const })),
    ],
    tables.map((table) => [table, ...accounts.map(({ rows }) => formatCount(rows[table]))]),
    columns,
  );
}

/** What to try after the demo of several accounts. */
export function describeAccountsNext(accounts: readonly AccountTables[], configPath: string): string {
  const config = quoteForShell(configPath);
  const query = 'SELECT account, count(*) FROM visibility_mentions GROUP BY account';
  const [first] = accounts;
  return [
    'The files:',
    ...accounts.map(({ duckdb }) => `  ${duckdb}`),
    '',
    'Look around:',
    `  npx sluice status -c ${config}`,
    `  npx sluice query --accounts '*' "${query}" -c ${config}`,
    `  npx sluice runs --accounts ${first?.account ?? ''} -c ${config}`,
    '',
    'With your own API:',
    '  npx sluice init --accounts acme,globex',
    '  (then the key of each into keys/acme and keys/globex, readable to you alone)',
    '  npx sluice check && npx sluice sync',
  ].join('\n');
}
