import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import YAML from 'yaml';
import { type AccountsFlow, createAccountsFlow } from '../support/accounts-flow.ts';
import { openLakeReader } from '../support/read-lake.ts';
import { DAY_MS } from '../support/sync-harness.ts';

interface Table {
  readonly name: string;
  readonly config: { readonly loaded_at_query: string; readonly meta?: object };
  readonly data_tests?: readonly unknown[];
  readonly columns: readonly { readonly name: string; readonly data_tests?: readonly unknown[] }[];
}

const COMBINED = { duckdb: './accounts/${account}.duckdb', combined: './all.duckdb' };
const LAKES = { parquet: './lake/account=${account}' };

async function exportAll(flow: AccountsFlow, args: readonly string[] = []) {
  const { exitCode, stdout, stderr } = await flow.run(['schema', 'export', '--format', 'dbt', ...args]);
  expect(exitCode, stderr).toBe(0);
  const { sources } = YAML.parse(stdout) as {
    readonly sources: readonly [{ readonly database: string; readonly tables: readonly Table[] }];
  };
  const { database, tables } = sources[0];
  const tableOf = (name: string) => {
    const found = tables.find((table) => table.name === name);
    if (found === undefined) throw new Error(`${name} was not exported`);
    return found;
  };
  return { database, tables, tableOf };
}

async function readLoadedAt(flow: AccountsFlow, file: string, { config }: Table): Promise<unknown> {
  const reader = await openLakeReader();
  try {
    // As dbt attaches it: under its own name.
    await reader.query(`ATTACH '${join(flow.folder, file)}' (READ_ONLY)`);
    const [row] = await reader.query(`SELECT epoch_ms((${config.loaded_at_query}))::DOUBLE AS at`);
    return row?.['at'];
  } finally {
    reader.close();
  }
}

describe('sources for dbt over all accounts', () => {
  it.each([
    ['one file with all rows', COMBINED, 'all.duckdb', 'all'],
    ['views over all lakes', LAKES, 'lake/lake.duckdb', 'lake'],
  ])('of %s have the account in each row and each key', async (_, destination, file, name) => {
    const flow = createAccountsFlow({ names: ['acme', 'globex'], config: { destination } });
    await flow.sync();
    const { database, tables, tableOf } = await exportAll(flow);
    expect(database).toBe(name);
    expect(tables).toHaveLength(4);
    const table = tableOf('prompts_analytics');
    expect(table.config.meta).toBeUndefined();
    expect(table.columns[0]).toMatchObject({ name: 'account', data_tests: ['not_null'] });
    expect(table.data_tests).toEqual([
      { unique: { arguments: { column_name: expect.stringMatching(/^row\("account", /) as string } } },
    ]);
    expect(await readLoadedAt(flow, file, table)).toBeGreaterThan(flow.clock.now() - DAY_MS);
  });

  it('are as fresh as the account whose last verification is the oldest', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex'], config: { destination: COMBINED } });
    await flow.sync();
    const before = flow.clock.now();
    await flow.clock.sleep(DAY_MS);
    await flow.sync(['--accounts', 'acme']);
    const { tableOf } = await exportAll(flow);
    const table = tableOf('visibility_mentions');
    expect(await readLoadedAt(flow, 'all.duckdb', table)).toBeLessThanOrEqual(before);
    await flow.sync();
    expect(await readLoadedAt(flow, 'all.duckdb', table)).toBeGreaterThan(before);
  });

  it('leave out an account that has published nothing, and one that is named alone has its own', async () => {
    const flow = createAccountsFlow({
      names: ['acme', 'globex'],
      revoked: ['globex'],
      config: { destination: COMBINED },
    });
    await flow.sync();
    const all = await exportAll(flow, ['prompts_analytics']);
    expect(all.tables).toHaveLength(1);
    expect(all.tables[0]?.config.loaded_at_query).not.toContain('globex');
    const one = await exportAll(flow, ['--accounts', 'acme']);
    expect(one.database).toBe('acme');
    expect(one.tableOf('prompts_analytics').columns.map(({ name }) => name)).not.toContain('account');
  });

  it('expect a stream only of the accounts that have it', async () => {
    const own = { globex: { streams: { visibility_mentions: { enabled: false } } } };
    const flow = createAccountsFlow({ names: ['acme', 'globex'], own, config: { destination: COMBINED } });
    await flow.sync();
    const { tableOf } = await exportAll(flow);
    expect(tableOf('visibility_mentions').config.loaded_at_query).not.toContain('globex');
    expect(tableOf('prompts_analytics').config.loaded_at_query).toContain('globex');
  });

  it('say what to do before anything joins the accounts', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'globex'], config: { destination: COMBINED } });
    const { exitCode, stderr } = await flow.run(['schema', 'export', '--format', 'dbt']);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/Run `sluice -c \S+ sync` first: it publishes one/);
    const apart = createAccountsFlow({
      names: ['acme', 'globex'],
      config: { destination: { duckdb: './accounts/${account}.duckdb' } },
    });
    const refused = await apart.run(['schema', 'export', '--format', 'dbt']);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain('works on one account at a time');
  });
});
