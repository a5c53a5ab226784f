import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { publishCombined } from '../../src/accounts/combined-file.ts';
import { writeAccountsCatalog } from '../../src/accounts/accounts-catalog.ts';
import type { AccountData } from '../../src/model/account.ts';
import type { PartitionRule } from '../../src/model/lake.ts';
import { openOwnPublished } from '../../src/warehouse/query-published.ts';
import { collectCrashStates, restoreCrashState } from '../crash/crash-states.ts';
import { accountAt, writeAccountLake } from '../support/account-files.ts';
import { damageColumns } from '../support/damage-file.ts';
import { lakeTableOf, openLakeReader, queryFiles } from '../support/read-lake.ts';
import { chooseStride, seed } from '../support/seeds.ts';
import { makeFolder } from '../support/sync-harness.ts';

const byDate = { column: 'date', transform: 'identity' } as const;
const byMonth = { column: 'date', transform: 'month' } as const;

/** Two lakes side by side: tables with folders and without, empty, of one account alone, and with history. */
async function makeLakes(rule: PartitionRule = byMonth) {
  const root = join(makeFolder(), 'lake');
  const days = (count: number) =>
    `SELECT i AS id, DATE '2026-01-30' + (i % 4)::INTEGER AS date, i * 1.5 AS amount, CASE WHEN i > 2 THEN TIMESTAMPTZ '2026-02-01 00:00:00+00' END AS _deleted_at FROM range(${count}) r(i)`;
  const acme = [
    `CREATE TABLE prompts AS ${days(10)}`,
    `CREATE TABLE prompts_history AS SELECT *, 'run' AS _run_id FROM prompts`,
    `CREATE TABLE nothing (id BIGINT, name VARCHAR)`,
    `CREATE TABLE only_acme AS SELECT '{"a": [1]}'::JSON AS j, 170141183460469231731687303715884105727::HUGEINT AS huge, 7::HUGEINT AS seven`,
  ];
  const globex = [
    `CREATE TABLE prompts AS SELECT *, 'x' || id AS extra FROM (${days(6)})`,
    `CREATE TABLE prompts_history AS SELECT *, 'run' AS _run_id FROM prompts`,
    `CREATE TABLE nothing (id BIGINT, name VARCHAR)`,
  ];
  const accounts = [
    await writeAccountLake(root, 'acme', acme, { partitionBy: { prompts: [byDate] } }),
    await writeAccountLake(root, 'globex', globex, { partitionBy: { prompts: [rule] } }),
  ];
  const file = join(root, 'lake.duckdb');
  return { root, accounts, file, write: () => writeAccountsCatalog(file, accounts) };
}

/** The rows of a table in the catalogs of the accounts themselves, as JSON. */
async function readOwn(
  accounts: readonly AccountData[],
  table: string,
  select = '*',
): Promise<readonly string[]> {
  const rows: string[] = [];
  for (const { account, readersFile } of accounts) {
    const own = await queryFiles(`SELECT ${select} FROM ${table}`, readersFile).catch(() => []);
    rows.push(...own.map((row) => describeRow({ account, ...row })));
  }
  return rows.toSorted();
}

/** A row without its empty columns: those that another account has are empty. */
function describeRow(row: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(
    Object.entries(row)
      .filter(([, value]) => value !== null)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

async function readAll(file: string, table: string): Promise<readonly string[]> {
  return (await queryFiles(`SELECT * FROM ${table}`, file)).map(describeRow).toSorted();
}

function fingerprint(file: string) {
  const { ino, mtimeMs } = statSync(file);
  return { ino, mtimeMs, content: readFileSync(file, 'base64') };
}

describe('writeAccountsCatalog', () => {
  it('is not made over a lake with a file whose columns cannot be read, which it names', async () => {
    const { file, accounts, write } = await makeLakes();
    const [{ lake = '' } = { lake: '' }] = accounts;
    const [{ path } = { path: '' }] = lakeTableOf(lake, 'only_acme').files;
    damageColumns(join(lake, 'only_acme', 'current', path));
    await expect(write()).rejects.toMatchObject({
      exitCode: 6,
      code: 'publish_failed',
      message: expect.stringMatching(/account acme: .*only_acme: its files in .* cannot be read/) as unknown,
      hint: expect.stringContaining('sluice verify') as unknown,
    });
    expect(existsSync(file)).toBe(false);
  });

  it('has a view for each table of any lake, whose rows are those of the lakes', async () => {
    const { accounts, file, write } = await makeLakes();
    expect(await write()).toEqual({ path: file, isReplaced: true, bytes: statSync(file).size, leftOut: [] });
    const views = await queryFiles('SHOW TABLES', file);
    expect(views.map(({ name }) => name)).toEqual(['nothing', 'only_acme', 'prompts', 'prompts_history']);
    for (const table of ['prompts', 'prompts_history', 'nothing', 'only_acme', '_sluice.runs'])
      expect(await readAll(file, table), table).toEqual(await readOwn(accounts, table));
    const described = await queryFiles('DESCRIBE prompts', file);
    expect(described.map((row) => [row['column_name'], row['column_type']])).toEqual([
      ['account', 'VARCHAR'],
      ['id', 'BIGINT'],
      ['date', 'DATE'],
      ['amount', 'DECIMAL(21,1)'],
      ['_deleted_at', 'TIMESTAMP WITH TIME ZONE'],
      ['extra', 'VARCHAR'],
    ]);
    const types = await queryFiles('DESCRIBE only_acme', file);
    expect(types.map((row) => row['column_type'])).toEqual(['VARCHAR', 'JSON', 'HUGEINT', 'HUGEINT']);
  });

  it('gives the rows that the plain pattern over all lakes gives', async () => {
    // Readers want the same folders in all of them.
    const { root, accounts, file, write } = await makeLakes(byDate);
    await write();
    for (const table of ['prompts_history', 'prompts']) {
      const pattern = join(root, 'account=*', table, 'current', '**', '*.parquet');
      const found = await queryFiles(
        `SELECT * EXCLUDE (date), date::DATE AS date FROM read_parquet('${pattern}', hive_partitioning = true, union_by_name = true)`,
      );
      const rows = found.map(describeRow).toSorted();
      expect(rows).toEqual(await readAll(file, table));
      expect(rows).toEqual(await readOwn(accounts, table));
    }
  });

  it('is written again where a lake has changed, and only there', async () => {
    const { root, accounts, file, write } = await makeLakes();
    await write();
    const before = fingerprint(file);
    expect(await write()).toMatchObject({ isReplaced: false });
    expect(fingerprint(file)).toEqual(before);
    const reader = await openLakeReader(file);
    const count = () => reader.query('SELECT count(*)::INTEGER AS n FROM prompts');
    expect(await count()).toEqual([{ n: 16 }]);
    await writeAccountLake(root, 'acme', [
      'DROP TABLE only_acme',
      'DELETE FROM prompts WHERE id > 3',
      'ALTER TABLE prompts ADD COLUMN fresh INTEGER',
    ]);
    // What the old views name stays for the grace time.
    expect(await count()).toEqual([{ n: 16 }]);
    expect(await write()).toMatchObject({ isReplaced: true });
    expect(await count()).toEqual([{ n: 16 }]);
    reader.close();
    expect(await readAll(file, 'prompts')).toEqual(await readOwn(accounts, 'prompts'));
    expect((await queryFiles('SHOW TABLES', file)).map(({ name }) => name)).toEqual([
      'nothing',
      'prompts',
      'prompts_history',
    ]);
    const third = await writeAccountLake(root, 'third', ['CREATE TABLE prompts AS SELECT 77::BIGINT AS id']);
    expect(await writeAccountsCatalog(file, [...accounts, third])).toMatchObject({ isReplaced: true });
    expect(await readAll(file, 'prompts')).toEqual(await readOwn([...accounts, third], 'prompts'));
    expect(await writeAccountsCatalog(file, [third])).toMatchObject({ isReplaced: true });
    expect(await readAll(file, 'prompts')).toEqual([describeRow({ account: 'third', id: '77' })]);
    expect(readdirSync(root).toSorted()).toEqual([
      'account=acme',
      'account=globex',
      'account=third',
      'lake.duckdb',
    ]);
  });

  it('is written again where partitions changed without a commit', async () => {
    const root = join(makeFolder(), 'lake');
    const rows = `CREATE TABLE t AS SELECT i AS id, DATE '2026-01-01' + i::INTEGER AS date FROM range(3) r(i)`;
    const acme = await writeAccountLake(root, 'acme', [rows]);
    const file = join(root, 'lake.duckdb');
    await writeAccountsCatalog(file, [acme]);
    await writeAccountLake(root, 'acme', [], { partitionBy: { t: [byDate] } });
    expect(await writeAccountsCatalog(file, [acme])).toMatchObject({ isReplaced: true });
    expect(await readAll(file, 't')).toEqual(await readOwn([acme], 't'));
  });

  it('gives columns whose type differs one that changes no value', async () => {
    const root = join(makeFolder(), 'lake');
    const accounts = [
      await writeAccountLake(root, 'acme', [
        'CREATE TABLE t AS SELECT 1::BIGINT AS a, 9007199254740993 AS b',
      ]),
      await writeAccountLake(root, 'globex', ['CREATE TABLE t AS SELECT 0.5::DOUBLE AS a, 0.5::DOUBLE AS b']),
    ];
    const file = join(root, 'lake.duckdb');
    await writeAccountsCatalog(file, accounts);
    const rows = await queryFiles(
      'SELECT a, b, typeof(a) AS ta, typeof(b) AS tb FROM t ORDER BY account',
      file,
    );
    expect(rows).toEqual([
      { a: 1, b: '9007199254740993', ta: 'DOUBLE', tb: 'VARCHAR' },
      { a: 0.5, b: '0.5', ta: 'DOUBLE', tb: 'VARCHAR' },
    ]);
  });

  it('leaves out accounts without a lake, and names them', async () => {
    const { accounts, file, root } = await makeLakes();
    const none = accountAt(makeFolder(), 'file-only');
    const later = { ...none, account: 'later', lake: join(root, 'account=later') };
    expect(await writeAccountsCatalog(file, [none, ...accounts, later])).toMatchObject({
      isReplaced: true,
      leftOut: ['file-only', 'later'],
    });
    rmSync(file);
    expect(await writeAccountsCatalog(file, [none, later])).toMatchObject({ isReplaced: false, bytes: 0 });
    expect(existsSync(file)).toBe(false);
  });

  it('refuses to replace a file that it did not write', async () => {
    const { accounts, root, file, write } = await makeLakes();
    const [acme] = accounts;
    const occupants = [
      () => Promise.resolve(writeFileSync(file, 'somebody else wrote this')),
      () => Promise.resolve(writeFileSync(file, readFileSync(acme?.readersFile ?? ''))),
      () => publishCombined({ file, accounts }),
    ];
    for (const occupy of occupants) {
      rmSync(file, { force: true });
      await occupy();
      const before = fingerprint(file);
      await expect(write()).rejects.toMatchObject({ code: 'publish_refused', exitCode: 2 });
      expect(fingerprint(file)).toEqual(before);
    }
    expect(readdirSync(root).toSorted()).toEqual(['account=acme', 'account=globex', 'lake.duckdb']);
  });

  it('is taken for the file of an account by no command', async () => {
    const { file, write } = await makeLakes();
    await write();
    await expect(openOwnPublished(file)).rejects.toMatchObject({ code: 'publish_refused', exitCode: 2 });
  });

  it('fails where the files of a lake are gone, naming the account, and leaves the old file', async () => {
    const { root, accounts, file, write } = await makeLakes();
    await write();
    const before = fingerprint(file);
    await writeAccountLake(root, 'acme', ['DELETE FROM prompts WHERE id = 3']);
    rmSync(join(root, 'account=globex', '_generations', 'prompts'), { recursive: true });
    await expect(write()).rejects.toMatchObject({ code: 'publish_failed', exitCode: 6 });
    await expect(write()).rejects.toThrow(`cannot write ${file}: account globex: `);
    expect(fingerprint(file)).toEqual(before);
    // The rows of a lake that lost files would be missing from a combined file.
    const combined = join(root, '..', 'all.duckdb');
    await expect(publishCombined({ file: combined, accounts })).rejects.toThrow('account globex: the lake');
    expect(existsSync(combined)).toBe(false);
  });

  it('may be written several times at once', async () => {
    const { accounts, root, file, write } = await makeLakes();
    const ends = await Promise.all([write(), write(), write()]);
    expect(ends.filter(({ isReplaced }) => isReplaced)).toHaveLength(1);
    expect(await readAll(file, 'prompts')).toEqual(await readOwn(accounts, 'prompts'));
    expect(readdirSync(root).toSorted()).toEqual(['account=acme', 'account=globex', 'lake.duckdb']);
  });

  it('shows the old views or the new ones before each step, and a kill there is made good', async () => {
    const { root, accounts, file, write } = await makeLakes();
    await write();
    const old = await readAll(file, 'prompts');
    await writeAccountLake(root, 'acme', ['DELETE FROM prompts WHERE id = 3'], {
      partitionBy: { prompts: [byDate] },
    });
    const fresh = await readOwn(accounts, 'prompts');
    const states = await collectCrashStates(root, write, () => 0);
    expect(states.length).toBeGreaterThan(3);
    const stride = chooseStride(2);
    for (const state of states.filter((_, at) => at % stride === seed % stride)) {
      const where = `SLUICE_SEED=${seed}: killed before ${state.step?.n ?? ''} ${state.step?.name ?? 'the end'}`;
      restoreCrashState(state, root);
      expect([old, fresh], where).toContainEqual(await readAll(file, 'prompts'));
      await write();
      expect(await readAll(file, 'prompts'), where).toEqual(fresh);
      expect(readdirSync(root).toSorted()).toEqual(['account=acme', 'account=globex', 'lake.duckdb']);
    }
  });
});
