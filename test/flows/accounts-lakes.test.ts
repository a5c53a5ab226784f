import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeAccountsCatalog } from '../../src/accounts/accounts-catalog.ts';
import { publishCombined } from '../../src/accounts/combined-file.ts';
import { queryAccounts } from '../../src/warehouse/query-accounts.ts';
import { queryFiles } from '../support/read-lake.ts';
import { createItemsFlow, DAY_MS, makeFolder, makeItems } from '../support/sync-harness.ts';

/** Syncs an account into `<root>/account=<name>`: rows by day, with history and marks on deleted rows. */
function createAccount(root: string, account: string, records: readonly object[]) {
  const lake = join(root, `account=${account}`);
  const flow = createItemsFlow(records, {
    config: { destination: { parquet: lake } },
    stream: { cursor: { field: 'date' }, key: ['id'], history: true, deletes: 'soft', maxDeleteRatio: 1 },
  });
  return { flow, data: { account, readersFile: join(lake, 'lake.duckdb'), lake } };
}

/** The same rows in the order of their values. */
function sort(rows: readonly object[]): readonly string[] {
  return rows.map((row) => JSON.stringify(row)).toSorted();
}

describe('the lakes of synced accounts, side by side', () => {
  it('read as one by the pattern, by the views, by a query and in a combined file, run after run', async () => {
    const root = join(makeFolder(), 'lake');
    const acme = createAccount(root, 'acme', makeItems(120));
    const globex = createAccount(root, 'globex', makeItems(70, { from: 40 }));
    const accounts = [acme.data, globex.data];
    const catalog = join(root, 'lake.duckdb');
    const file = join(root, '..', 'all.duckdb');
    for (const run of [1, 2, 3]) {
      // A new day, a changed row and one that is gone, in one account only.
      if (run === 2)
        acme.flow.simulator.editRecords('items', () =>
          makeItems(180)
            .map((item) => ({ ...item, amount: item.id === 7 ? -1 : item.amount }))
            .slice(1),
        );
      for (const { flow } of [acme, globex]) {
        expect(await flow.sync({ force: true, fullRefresh: true })).toMatchObject({ exitCode: 0 });
        await flow.clock.sleep(DAY_MS);
      }
      expect(await writeAccountsCatalog(catalog, accounts)).toMatchObject({ isReplaced: true, leftOut: [] });
      expect(await publishCombined({ file, accounts })).toMatchObject({ isReplaced: true, leftOut: [] });
      for (const table of ['items', 'items_history']) {
        const own = [];
        for (const { account, readersFile } of accounts)
          own.push(...(await queryFiles(`SELECT '${account}' AS account, * FROM ${table}`, readersFile)));
        const where = `${table} after run ${run}`;
        expect(own.length, where).toBeGreaterThanOrEqual(190);
        expect(sort(await queryFiles(`FROM ${table}`, catalog)), where).toEqual(sort(own));
        expect(sort(await queryFiles(`FROM ${table}`, file)), where).toEqual(sort(own));
        const columns = Object.keys(own[0] ?? {}).join(', ');
        const pattern = join(root, 'account=*', table, 'current', '**', '*.parquet');
        const plain = `SELECT ${columns} FROM read_parquet('${pattern}', hive_partitioning = true, union_by_name = true)`;
        expect(sort(await queryFiles(plain)), where).toEqual(sort(own));
        const counted = `SELECT account, count(*)::INTEGER AS n FROM ${table} GROUP BY 1 ORDER BY 1`;
        const { rows } = await queryAccounts(accounts, counted);
        expect(rows, where).toEqual((await queryFiles(counted, file)).map(({ account, n }) => [account, n]));
      }
    }
    const marked = 'SELECT account, count(_deleted_at)::INTEGER AS n FROM items GROUP BY 1 ORDER BY 1';
    expect(await queryFiles(marked, catalog)).toEqual([
      { account: 'acme', n: 1 },
      { account: 'globex', n: 0 },
    ]);
  });
});
