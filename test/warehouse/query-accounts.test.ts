import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AccountData } from '../../src/model/account.ts';
import type { TakeRows } from '../../src/model/take-rows.ts';
import { queryAccounts, streamAccounts } from '../../src/warehouse/query-accounts.ts';
import { accountAt, writeAccountFile, writeAccountLake } from '../support/account-files.ts';
import { damageBlocksOf } from '../support/damage-file.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

/** An account for each list of statements: a, b, c, … */
async function writeAccounts(...lists: readonly (readonly string[])[]): Promise<readonly AccountData[]> {
  const folder = makeTempFolder();
  const accounts: AccountData[] = [];
  for (const [at, statements] of lists.entries())
    accounts.push(await writeAccountFile(folder, String.fromCharCode(97 + at), ...statements));
  return accounts;
}

describe('queryAccounts', () => {
  it('answers over the tables of all accounts, whose each row is', async () => {
    const accounts = await writeAccounts(
      ['CREATE TABLE prompts AS SELECT range AS id FROM range(3)'],
      [
        'CREATE TABLE prompts AS SELECT range AS id FROM range(2)',
        'CREATE TABLE only_b AS SELECT 7 AS seven',
      ],
    );
    expect(
      await queryAccounts(
        accounts,
        'SELECT account, count(*)::INTEGER AS n FROM prompts GROUP BY 1 ORDER BY 1',
      ),
    ).toEqual({
      columns: [
        { name: 'account', type: 'VARCHAR' },
        { name: 'n', type: 'INTEGER' },
      ],
      rows: [
        ['a', 3],
        ['b', 2],
      ],
      leftOut: [],
    });
    expect((await queryAccounts(accounts, 'FROM only_b')).rows).toEqual([['b', 7]]);
    const runs = await queryAccounts(accounts, 'SELECT account, run_id FROM _sluice.runs ORDER BY 1');
    expect(runs.rows).toEqual([
      ['a', 'a-run-1'],
      ['b', 'b-run-1'],
    ]);
    const kept = await queryAccounts(
      accounts,
      `SELECT account, value FROM _sluice.meta WHERE key = 'generation'`,
    );
    expect(kept.rows).toHaveLength(2);
    expect((await queryAccounts(accounts, 'SELECT count(*)::INTEGER FROM b.main.prompts')).rows).toEqual([
      [2],
    ]);
    expect((await queryAccounts(accounts, 'SHOW TABLES')).rows).toEqual([['only_b'], ['prompts']]);
  });

  it('hands on rows as they are read, and none of them twice', async () => {
    const accounts = await writeAccounts(
      ['CREATE TABLE t AS SELECT range AS id FROM range(500000)', 'CREATE TABLE u AS SELECT 1 AS id'],
      ['CREATE TABLE v AS SELECT 1 AS id'],
    );
    const firstIds: unknown[] = [];
    const take: TakeRows = ({ rows }) => {
      firstIds.push(rows[0]?.[1]);
      return Promise.resolve(true);
    };
    const sql = (last: string) => `SELECT account, if(id < 400000, id, ${last}) FROM t ORDER BY id`;
    expect(await streamAccounts(accounts, sql('-1'), { take })).toEqual({ leftOut: [] });
    expect(firstIds.slice(0, 2)).toEqual(['0', '2048']);
    firstIds.length = 0;
    const sorted = `SELECT account, if(id < 400000, id, error('boom')) FROM (FROM t ORDER BY id)`;
    await expect(streamAccounts(accounts, sorted, { take })).rejects.toThrow('boom');
    expect(firstIds.filter((id) => id === '0').length).toBeLessThan(2);
  });

  it('puts columns that only some accounts have after the others, empty elsewhere', async () => {
    const accounts = await writeAccounts(
      [`CREATE TABLE t AS SELECT 1 AS id, 'x' AS name`],
      [`CREATE TABLE t AS SELECT true AS active, 2 AS "ID"`],
    );
    const { columns, rows } = await queryAccounts(accounts, 'FROM t ORDER BY id');
    expect(columns.map(({ name }) => name)).toEqual(['account', 'id', 'name', 'active']);
    expect(rows).toEqual([
      ['a', 1, 'x', null],
      ['b', 2, null, true],
    ]);
  });

  it('takes names that differ in the case of ASCII letters for one table, and no others', async () => {
    const accounts = await writeAccounts(
      ['CREATE TABLE "Été" AS SELECT 1 AS id', 'CREATE TABLE "été" AS SELECT 2 AS id'],
      ['CREATE TABLE "ÉTé" AS SELECT 3 AS id'],
    );
    expect((await queryAccounts(accounts, 'SHOW TABLES')).rows).toEqual([['Été'], ['été']]);
    const { rows } = await queryAccounts(accounts, 'SELECT account, id FROM "Été" ORDER BY 1');
    expect(rows).toEqual([
      ['a', 1],
      ['b', 3],
    ]);
  });

  it.each([
    [['account'], '_account'],
    [['ACCOUNT', 'x'], '_account'],
    [['Account', '_ACCOUNT'], '__account'],
    [['_account'], 'account'],
  ])('keeps columns called %j and calls its own %s', async (taken, own) => {
    const columns = taken.map((name, at) => `'theirs ${at}' AS "${name}"`);
    const accounts = await writeAccounts(
      ['CREATE TABLE t AS SELECT 1 AS id'],
      [`CREATE TABLE t AS SELECT 2 AS id, ${columns.join(', ')}`],
    );
    const { columns: found, rows } = await queryAccounts(accounts, 'FROM t ORDER BY id');
    expect(found.map(({ name }) => name)).toEqual([own, 'id', ...taken]);
    expect(rows).toEqual([
      ['a', 1, ...taken.map(() => null)],
      ['b', 2, ...taken.map((_, at) => `theirs ${at}`)],
    ]);
  });

  it.each([
    'main',
    'temp',
    'system',
    'memory',
    'information_schema',
    'pg_catalog',
    'work',
    'select',
    '0-0_0',
    'prompts',
  ])('takes an account called %s', async (name) => {
    const folder = makeTempFolder();
    const table = 'CREATE TABLE prompts AS SELECT 1 AS id';
    const accounts = [
      await writeAccountFile(folder, name, table),
      await writeAccountFile(folder, `${name}_`, table),
      await writeAccountFile(folder, 'other', table),
    ];
    const sql = 'SELECT account FROM main.prompts ORDER BY 1';
    expect((await queryAccounts(accounts, sql)).rows).toEqual(
      [name, `${name}_`, 'other'].toSorted().map((one) => [one]),
    );
    expect(
      (await queryAccounts(accounts, 'SELECT count(*) FROM information_schema.tables')).rows,
    ).not.toEqual([[0]]);
  });

  it('quotes whatever tables and columns are called', async () => {
    const accounts = await writeAccounts(
      [`CREATE TABLE "; DROP"" TABLE 'x' --" AS SELECT 1 AS "a"" ""; --"`],
      [`CREATE TABLE "; DROP"" TABLE 'x' --" AS SELECT 'b' AS "a"" ""; --"`],
    );
    const { rows } = await queryAccounts(accounts, `FROM "; DROP"" TABLE 'x' --" ORDER BY account`);
    expect(rows).toEqual([
      ['a', '1'],
      ['b', 'b'],
    ]);
  });

  it('leaves out an account that has published nothing, and names it', async () => {
    const accounts = await writeAccounts(['CREATE TABLE t AS SELECT 1 AS id']);
    const none = accountAt(makeTempFolder(), 'new');
    const found = await queryAccounts([none, ...accounts], 'SELECT account FROM t');
    expect(found).toMatchObject({ rows: [['a']], leftOut: ['new'] });
    await expect(queryAccounts([none], 'SELECT 1')).rejects.toMatchObject({
      code: 'query_failed',
      exitCode: 2,
      message: 'nothing is published yet for new',
    });
    await expect(queryAccounts([], 'SELECT 1')).rejects.toMatchObject({ code: 'query_failed', exitCode: 2 });
  });

  it.each([
    'DROP VIEW t',
    'INSERT INTO t VALUES (1)',
    'CREATE TABLE other AS SELECT 1',
    "ATTACH ':memory:' AS x",
    'USE a',
    'SET threads = 4',
    `COPY (SELECT 1) TO '/tmp/sluice-should-not-be-there.csv'`,
    `SELECT * FROM read_text('/etc/passwd')`,
    `SELECT * FROM read_csv('/etc/passwd')`,
    'INSTALL httpfs',
    'LOAD httpfs',
    'SELECT 1; SELECT 2',
    '',
    'SELECT * FROM nowhere',
  ])('refuses %j and changes nothing', async (sql) => {
    const accounts = await writeAccounts(['CREATE TABLE t AS SELECT 1 AS id']);
    const before = accounts.map(({ readersFile }) => readFileSync(readersFile));
    await expect(queryAccounts(accounts, sql)).rejects.toMatchObject({ code: 'query_failed', exitCode: 2 });
    expect(accounts.map(({ readersFile }) => readFileSync(readersFile))).toEqual(before);
  });

  it('names the account whose file is not a database, unless it is not asked for', async () => {
    const accounts = await writeAccounts(
      ['CREATE TABLE t AS SELECT 1 AS id'],
      ['CREATE TABLE t AS SELECT 2 AS id'],
    );
    const { readersFile } = accounts[1] ?? accountAt('', '');
    writeFileSync(readersFile, 'not a database');
    const failing = queryAccounts(accounts, 'FROM t');
    await expect(failing).rejects.toMatchObject({ code: 'state_damaged', exitCode: 6 });
    await expect(failing).rejects.toThrow(`account b: ${readersFile} is damaged`);
    expect((await queryAccounts(accounts.slice(0, 1), 'FROM t')).rows).toEqual([['a', 1]]);
  });

  it('names the account whose blocks are damaged, where its rows are asked for', async () => {
    const rows = 'AS SELECT i AS id, hash(i) AS noise FROM range(100000) r(i)';
    const accounts = await writeAccounts(
      [`CREATE TABLE t ${rows}`, 'CREATE TABLE u AS SELECT 1 AS id'],
      [`CREATE TABLE t ${rows}`, 'CREATE TABLE u AS SELECT 2 AS id'],
    );
    const { readersFile } = accounts[1] ?? accountAt('', '');
    await damageBlocksOf(readersFile, 't');
    expect((await queryAccounts(accounts, 'SELECT count(*)::INTEGER FROM u')).rows).toEqual([[2]]);
    const failing = queryAccounts(accounts, 'SELECT sum(noise) FROM t');
    await expect(failing).rejects.toMatchObject({ code: 'state_damaged', exitCode: 6 });
    await expect(failing).rejects.toThrow(`account b: ${readersFile} is damaged`);
  });

  it('lists all tables, and names them where one does not exist', async () => {
    const accounts = await writeAccounts(
      ['CREATE TABLE prompts AS SELECT 1 AS id'],
      ['CREATE TABLE mentions AS SELECT 1 AS id'],
    );
    const listed = await queryAccounts(
      accounts,
      `SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' AND table_catalog = current_database() AND table_name <> 'prompts' ORDER BY 1`,
    );
    expect(listed.rows).toEqual([['mentions']]);
    await expect(queryAccounts(accounts, 'FROM prompts JOIN promts USING (id)')).rejects.toMatchObject({
      code: 'query_failed',
      hint: expect.stringContaining('Tables: mentions, prompts;') as string,
    });
  });

  it('reads on where an account publishes or loses its file meanwhile', async () => {
    const accounts = await writeAccounts(
      ['CREATE TABLE t AS SELECT 1 AS id'],
      ['CREATE TABLE t AS SELECT 2 AS id'],
    );
    const answers = Array.from({ length: 4 }, () =>
      queryAccounts(accounts, 'SELECT sum(id)::INTEGER FROM t'),
    );
    expect((await Promise.all(answers)).map(({ rows }) => rows)).toEqual(answers.map(() => [[3]]));
    rmSync(accounts[0]?.readersFile ?? '');
    expect(await queryAccounts(accounts, 'FROM t')).toMatchObject({ rows: [['b', 2]], leftOut: ['a'] });
  });

  it('ends with the error of its signal', async () => {
    const accounts = await writeAccounts(['CREATE TABLE t AS SELECT range AS id FROM range(100000)']);
    const slow = 'SELECT count(*) FROM t a, t b, t c WHERE hash(a.id, b.id, c.id) = 1';
    await expect(queryAccounts(accounts, slow, { signal: AbortSignal.timeout(300) })).rejects.toMatchObject({
      code: 'aborted',
    });
    await expect(queryAccounts(accounts, slow, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
  });

  it('gives at most the rows asked for', async () => {
    const accounts = await writeAccounts(['CREATE TABLE t AS SELECT range AS id FROM range(10)']);
    expect((await queryAccounts(accounts, 'FROM t', { maxRows: 3 })).rows).toHaveLength(3);
  });

  it('reads the lake of one account next to the file of another', async () => {
    const folder = makeTempFolder();
    const days = `CREATE TABLE t AS SELECT i AS id, DATE '2026-01-01' + i::INTEGER AS date, i::HUGEINT AS n FROM range(3) r(i)`;
    const rule = { column: 'date', transform: 'identity' } as const;
    const lake = await writeAccountLake(join(folder, 'lake'), 'acme', [days], { partitionBy: { t: [rule] } });
    const file = await writeAccountFile(folder, 'globex', 'CREATE TABLE t AS SELECT 9 AS id');
    const accounts = [lake, file];
    const { columns, rows } = await queryAccounts(
      accounts,
      'SELECT * REPLACE (id::INTEGER AS id) FROM t ORDER BY id',
    );
    expect(columns.map(({ type }) => type)).toEqual(['VARCHAR', 'INTEGER', 'DATE', 'HUGEINT']);
    expect(rows).toEqual([
      ['acme', 0, '2026-01-01', '0'],
      ['acme', 1, '2026-01-02', '1'],
      ['acme', 2, '2026-01-03', '2'],
      ['globex', 9, null, null],
    ]);
    expect((await queryAccounts(accounts, 'SELECT account FROM _sluice.runs ORDER BY 1')).rows).toHaveLength(
      2,
    );
    const current = join(lake.lake ?? '', 't', 'current');
    await expect(queryAccounts(accounts, `COPY (SELECT 1) TO '${current}/x.parquet'`)).rejects.toMatchObject({
      exitCode: 2,
    });
    rmSync(join(current, readdirSync(current)[0] ?? ''), { recursive: true });
    const failing = queryAccounts(accounts, 'SELECT count(*) FROM t');
    await expect(failing).rejects.toMatchObject({ code: 'state_damaged', exitCode: 6 });
    await expect(failing).rejects.toThrow(`account acme: the lake ${lake.lake ?? ''} is incomplete`);
    rmSync(join(lake.lake ?? '', '_generations', 't'), { recursive: true });
    await expect(queryAccounts(accounts, 'SELECT count(*) FROM t')).rejects.toThrow('account acme: the lake');
    expect((await queryAccounts(accounts, 'SELECT count(*)::INTEGER FROM _sluice.runs')).rows).toEqual([[2]]);
  });
});
