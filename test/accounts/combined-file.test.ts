import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockDestinations } from '../../state/destination-lock.ts';
import { publishCombined } from '../../src/accounts/combined-file.ts';
import { writeAccountsCatalog } from '../../src/accounts/accounts-catalog.ts';
import { verifyState } from '../../src/commands/verify/verify.ts';
import type { AccountData } from '../../src/model/account.ts';
import { openOwnPublished } from '../../src/warehouse/query-published.ts';
import { collectCrashStates, keepFolder, restoreCrashState } from '../crash/crash-states.ts';
import { accountAt, writeAccountFile, writeAccountLake } from '../support/account-files.ts';
import { changeFile, damageBlocksOf, damageFooter } from '../support/damage-file.ts';
import { hookSteps, type Step } from '../support/io-steps.ts';
import { queryCopy } from '../support/published.ts';
import { lakeTableOf, openLakeReader } from '../support/read-lake.ts';
import { chooseStride, seed } from '../support/seeds.ts';
import { createItemsFlow, type Flow, makeFolder, makeItems } from '../support/sync-harness.ts';

const OLD = ['CREATE TABLE t AS SELECT i AS id FROM range(3) r(i)'];
const NEW = ['INSERT INTO t VALUES (9)'];

/** Two accounts in a folder, and the file that combines them. */
async function makeWorld() {
  const folder = makeFolder();
  const accounts = [
    await writeAccountFile(folder, 'acme', ...OLD),
    await writeAccountFile(folder, 'globex', ...OLD),
  ];
  const file = join(folder, 'out', 'all.duckdb');
  return { folder, accounts, file, publish: () => publishCombined({ file, accounts }) };
}

/** Rows of `t` by account; undefined if there is no file. */
async function count(file: string): Promise<readonly unknown[] | undefined> {
  if (!existsSync(file)) return undefined;
  const { rows } = await queryCopy(file, 'SELECT account, count(*) AS n FROM t GROUP BY 1 ORDER BY 1');
  return rows.map(({ account, n }) => [account, n]);
}

const COUNTED_OLD = [
  ['acme', 3],
  ['globex', 3],
];
const COUNTED_NEW = [
  ['acme', 4],
  ['globex', 3],
];

/** What identifies a file and what is in it. */
function fingerprint(file: string) {
  const { ino, mtimeMs, size } = statSync(file);
  return { ino, mtimeMs, size, content: readFileSync(file, 'base64') };
}

/** What lies next to the file. */
function listLitter(file: string): readonly string[] {
  return readdirSync(dirname(file)).filter((name) => name !== 'all.duckdb');
}

function dataOf(account: string, flow: Flow): AccountData {
  return { account, readersFile: flow.duckdbPath, lake: undefined };
}

describe('publishCombined', () => {
  it('puts the rows of synced accounts into one file, and the system tables with them', async () => {
    const acme = createItemsFlow(makeItems(120));
    const globex = createItemsFlow(
      makeItems(70, { from: 500 }).map((item) => ({ ...item, extra: `x${item.id}` })),
    );
    for (const flow of [acme, globex]) expect((await flow.sync()).exitCode).toBe(0);
    const file = join(makeFolder(), 'all.duckdb');
    const accounts = [dataOf('acme', acme), dataOf('globex', globex), accountAt(makeFolder(), 'new')];
    const { bytes, ...result } = await publishCombined({ file, accounts });
    expect(result).toEqual({ path: file, isReplaced: true, leftOut: ['new'] });
    expect(bytes).toBe(statSync(file).size);
    for (const [account, flow] of [
      ['acme', acme],
      ['globex', globex],
    ] as const) {
      const all = await queryCopy(file, `SELECT * FROM items WHERE account = '${account}' ORDER BY id`);
      const own = await flow.query('SELECT * FROM items ORDER BY id');
      expect(all.rows).toEqual(own.map((row) => ({ account, ...row })));
      expect(Object.keys(all.columns)[0]).toBe('account');
      const runs = await queryCopy(file, `SELECT run_id FROM _sluice.runs WHERE account = '${account}'`);
      expect(runs.rows).toEqual(await flow.query('SELECT run_id FROM _sluice.runs'));
    }
    const tables = await queryCopy(
      file,
      `SELECT table_name FROM duckdb_tables() WHERE database_name = 'copy' AND schema_name = '_sluice' ORDER BY 1`,
    );
    expect(tables.rows.map((row) => row['table_name'])).toContain('quarantine');
    expect(listLitter(file)).toEqual([]);
  });

  it('is written again where a block of it is damaged, though no account has published since', async () => {
    const { file, accounts, publish } = await makeWorld();
    const many = ['CREATE TABLE large AS SELECT hash(i) AS id FROM range(20000) r(i)'];
    const [, globex] = accounts;
    const all = [await writeAccountFile(makeFolder(), 'acme', ...OLD, ...many), ...(globex ? [globex] : [])];
    await publishCombined({ file, accounts: all });
    await damageBlocksOf(file, 'large');
    expect(await publishCombined({ file, accounts: all })).toMatchObject({ isReplaced: true });
    const { rows } = await queryCopy(file, 'SELECT count(DISTINCT id) AS n FROM large');
    expect(rows).toEqual([{ n: 20_000 }]);
    expect(await publishCombined({ file, accounts: all })).toMatchObject({ isReplaced: false });
    expect(await publish()).toMatchObject({ isReplaced: true });
  });

  it.each([
    'DELETE FROM t WHERE id = 1',
    'UPDATE t SET id = 0',
    'ALTER TABLE t ADD COLUMN more INTEGER',
    'CREATE TABLE more (n INTEGER)',
    'CREATE VIEW more AS FROM t',
  ])('is written again where another program has changed it: %s', async (statement) => {
    const { file, publish } = await makeWorld();
    await publish();
    const before = (await queryCopy(file, 'FROM t ORDER BY ALL')).rows;
    expect(await publish()).toMatchObject({ isReplaced: false });
    await changeFile(file, statement);
    expect(await publish()).toMatchObject({ isReplaced: true });
    expect((await queryCopy(file, 'FROM t ORDER BY ALL')).rows).toEqual(before);
    expect(await publish()).toMatchObject({ isReplaced: false });
  });

  it('takes no rows of a lake with a damaged file, names it, and leaves the earlier file as it is', async () => {
    const folder = makeFolder();
    const lake = join(folder, 'lake');
    const file = join(folder, 'all.duckdb');
    await publishCombined({ file, accounts: [await writeAccountLake(lake, 'acme', OLD)] });
    const before = fingerprint(file);
    const account = await writeAccountLake(lake, 'acme', NEW);
    const [{ path } = { path: '' }] = lakeTableOf(account.lake ?? '', 't').files;
    damageFooter(join(account.lake ?? '', 't', 'current', path));
    await expect(publishCombined({ file, accounts: [account] })).rejects.toMatchObject({
      exitCode: 6,
      code: 'publish_failed',
      message: expect.stringMatching(/account acme: .*\.parquet is damaged/) as unknown,
      hint: expect.stringContaining('sluice verify') as unknown,
    });
    expect(fingerprint(file)).toEqual(before);
  });

  it('takes the rows of lakes as well, and gives a column one type without changing a value', async () => {
    const folder = makeFolder();
    const accounts = [
      await writeAccountLake(join(folder, 'lake'), 'acme', [
        `CREATE TABLE t AS SELECT 1 AS id, 9007199254740993 AS n, '[1]'::JSON AS j`,
      ]),
      await writeAccountFile(
        folder,
        'globex',
        `CREATE TABLE t AS SELECT 2 AS id, 0.5::DOUBLE AS n, 'x' AS j`,
      ),
    ];
    const file = join(folder, 'all.duckdb');
    await publishCombined({ file, accounts });
    const { columns, rows } = await queryCopy(file, 'SELECT * FROM t ORDER BY id');
    expect(columns).toEqual({ account: 'VARCHAR', id: 'INTEGER', n: 'VARCHAR', j: 'JSON' });
    expect(rows).toEqual([
      { account: 'acme', id: 1, n: '9007199254740993', j: [1] },
      { account: 'globex', id: 2, n: '0.5', j: 'x' },
    ]);
  });

  it('leaves the file where nothing was published since, and replaces it where something was', async () => {
    const { folder, accounts, file, publish } = await makeWorld();
    expect(await publish()).toMatchObject({ isReplaced: true });
    const before = fingerprint(file);
    expect(await publish()).toEqual({ path: file, isReplaced: false, bytes: before.size, leftOut: [] });
    expect(fingerprint(file)).toEqual(before);
    await writeAccountFile(folder, 'acme', ...NEW);
    expect(await publish()).toMatchObject({ isReplaced: true });
    expect(await count(file)).toEqual(COUNTED_NEW);
    expect(await publishCombined({ file, accounts: accounts.slice(1) })).toMatchObject({ isReplaced: true });
    expect(await count(file)).toEqual([['globex', 3]]);
    expect(listLitter(file)).toEqual([]);
  });

  it('writes nothing where no account has published anything', async () => {
    const folder = makeFolder();
    const file = join(folder, 'out', 'all.duckdb');
    const found = await publishCombined({ file, accounts: [accountAt(folder, 'acme')] });
    expect(found).toEqual({ path: file, isReplaced: false, bytes: 0, leftOut: ['acme'] });
    expect(existsSync(dirname(file))).toBe(false);
  });

  it('leaves readers who have the old file open what they opened', async () => {
    const { folder, file, publish } = await makeWorld();
    await publish();
    const reader = await openLakeReader(file);
    const read = () => reader.query('SELECT count(*)::INTEGER AS n FROM t');
    expect(await read()).toEqual([{ n: 6 }]);
    await writeAccountFile(folder, 'acme', ...NEW);
    expect(await publish()).toMatchObject({ isReplaced: true });
    expect(await read()).toEqual([{ n: 6 }]);
    reader.close();
    expect(await count(file)).toEqual(COUNTED_NEW);
  });

  it('keeps a link to the file, and its permissions', async () => {
    const { folder, accounts, file, publish } = await makeWorld();
    await publish();
    const link = join(folder, 'link.duckdb');
    symlinkSync(file, link);
    chmodSync(file, 0o640);
    await writeAccountFile(folder, 'acme', ...NEW);
    expect(await publishCombined({ file: link, accounts })).toMatchObject({ isReplaced: true });
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(await count(file)).toEqual(COUNTED_NEW);
  });

  it.each([
    ['a text', (file: string) => Promise.resolve(writeFileSync(file, 'somebody else wrote this'))],
    ['an empty file', (file: string) => Promise.resolve(writeFileSync(file, ''))],
    [
      'a database of another program',
      (file: string) => changeFile(file, 'CREATE TABLE mine AS SELECT 1 AS id'),
    ],
    ['the published file of an account', (file: string) => writeAccountFile(dirname(file), 'all', ...OLD)],
    [
      'the combined file of other accounts',
      async (file: string) =>
        publishCombined({ file, accounts: [await writeAccountFile(makeFolder(), 'other', ...OLD)] }),
    ],
    [
      'views over lakes',
      async (file: string) =>
        writeAccountsCatalog(file, [await writeAccountLake(join(makeFolder(), 'lake'), 'acme', OLD)]),
    ],
  ])('refuses to replace %s', async (_, occupy) => {
    const { file, publish } = await makeWorld();
    mkdirSync(dirname(file));
    await occupy(file);
    const before = fingerprint(file);
    await expect(publish()).rejects.toMatchObject({ code: 'publish_refused', exitCode: 2 });
    await expect(publish()).rejects.toThrow(/^\S+all\.duckdb .*; it is not replaced$/);
    expect(fingerprint(file)).toEqual(before);
    expect(listLitter(file).filter((name) => name !== 'scratch')).toEqual([]);
  });

  it('refuses a source that is not the file of one account', async () => {
    const { folder, accounts, file } = await makeWorld();
    const mine = join(folder, 'mine.duckdb');
    await changeFile(mine, 'CREATE TABLE t AS SELECT 1 AS id');
    const other = { account: 'mine', readersFile: mine, lake: undefined };
    await expect(publishCombined({ file, accounts: [...accounts, other] })).rejects.toMatchObject({
      code: 'publish_refused',
      exitCode: 2,
      message: `account mine: ${mine} was not written by Sluice`,
    });
    expect(existsSync(file)).toBe(false);
  });

  it('is taken for the file of an account by no command', async () => {
    const acme = createItemsFlow(makeItems(10));
    await acme.sync();
    const file = join(makeFolder(), 'all.duckdb');
    await publishCombined({ file, accounts: [dataOf('acme', acme)] });
    const before = fingerprint(file);
    // A config whose destination is the combined file by mistake, with a state and without one.
    const mistaken = { destination: { duckdb: file } };
    const fresh = createItemsFlow(makeItems(10), { config: mistaken });
    for (const sync of [() => acme.sync({ config: mistaken }), () => fresh.sync()]) {
      const end = await sync().catch((error: unknown) => error);
      expect(end).toMatchObject({ exitCode: 2 });
      expect(fingerprint(file)).toEqual(before);
    }
    expect(fresh.arrivals).toEqual([]);
    await expect(openOwnPublished(file)).rejects.toMatchObject({ code: 'publish_refused', exitCode: 2 });
    expect(await verifyState(fresh.settings())).toMatchObject({ ok: false });
    expect(fingerprint(file)).toEqual(before);
  });

  it('fails where the file of an account is damaged, naming it, and leaves the old file', async () => {
    const { folder, accounts, file, publish } = await makeWorld();
    await writeAccountFile(
      folder,
      'globex',
      'CREATE TABLE big AS SELECT i, hash(i) AS h FROM range(100000) r(i)',
    );
    await publish();
    const before = fingerprint(file);
    await writeAccountFile(folder, 'acme', ...NEW);
    const { readersFile } = accounts[1] ?? accountAt('', '');
    await damageBlocksOf(readersFile, 'big');
    await expect(publish()).rejects.toMatchObject({ code: 'publish_failed', exitCode: 6 });
    await expect(publish()).rejects.toThrow(
      `cannot write ${file}: account globex: ${readersFile} is damaged`,
    );
    writeFileSync(readersFile, 'nothing left');
    await expect(publish()).rejects.toMatchObject({ code: 'publish_failed', exitCode: 6 });
    await expect(publish()).rejects.toThrow(`account globex: ${readersFile} is damaged`);
    expect(fingerprint(file)).toEqual(before);
    expect(listLitter(file)).toEqual([]);
  });

  it('waits for another process that writes the file, and then says who has to wait', async () => {
    const { accounts, file, publish } = await makeWorld();
    mkdirSync(dirname(file));
    const lock = await lockDestinations([{ target: file }]);
    const refused = publishCombined({ file, accounts, waitMs: 150 });
    await expect(refused).rejects.toMatchObject({ code: 'state_locked', exitCode: 75 });
    const waiting = publish();
    await lock.release();
    expect(await waiting).toMatchObject({ isReplaced: true });
  });

  it('may be called several times at once', async () => {
    const { file, publish } = await makeWorld();
    const ends = await Promise.all([publish(), publish(), publish()]);
    expect(ends.filter(({ isReplaced }) => isReplaced)).toHaveLength(1);
    expect(await count(file)).toEqual(COUNTED_OLD);
    expect(listLitter(file)).toEqual([]);
  });

  it('ends with the error of its signal, and leaves the old file', async () => {
    const { folder, accounts, file, publish } = await makeWorld();
    await publish();
    const before = fingerprint(file);
    await writeAccountFile(
      folder,
      'acme',
      'CREATE TABLE big AS SELECT i, hash(i) AS h FROM range(3000000) r(i)',
    );
    for (const signal of [AbortSignal.abort(), AbortSignal.timeout(30)])
      await expect(publishCombined({ file, accounts, signal })).rejects.toMatchObject({ code: 'aborted' });
    expect(fingerprint(file)).toEqual(before);
    expect(listLitter(file)).toEqual([]);
  });

  it('shows the old file or the new one before each step, and a kill there is made good', async () => {
    const { folder, file, publish } = await makeWorld();
    await publish();
    await writeAccountFile(folder, 'acme', ...NEW);
    const states = await collectCrashStates(dirname(file), publish, () => 0);
    expect(await count(file)).toEqual(COUNTED_NEW);
    expect(states.length).toBeGreaterThan(3);
    const stride = chooseStride(5);
    for (const state of states.filter((_, at) => at % stride === seed % stride)) {
      const where = `SLUICE_SEED=${seed}: killed before ${state.step?.n ?? ''} ${state.step?.name ?? 'the end'}`;
      restoreCrashState(state, dirname(file));
      expect([COUNTED_OLD, COUNTED_NEW], where).toContainEqual(await count(file));
      await publish();
      expect(await count(file), where).toEqual(COUNTED_NEW);
      expect(listLitter(file), where).toEqual([]);
    }
  });

  it('reports a disk that fills up at each step, harms nothing, and is made good', async () => {
    const { folder, file, publish } = await makeWorld();
    await publish();
    await writeAccountFile(folder, 'acme', ...NEW);
    const restore = keepFolder(dirname(file));
    const stride = chooseStride(5);
    for (let n = 1 + (seed % stride); ; n += stride) {
      restore();
      const failed = await fillDiskAt(n, folder, publish);
      if (failed === undefined) break;
      const where = `SLUICE_SEED=${seed}: no space left at ${n} ${failed.step.name}`;
      expect([undefined, 6], where).toContain(failed.exitCode);
      expect([COUNTED_OLD, COUNTED_NEW], where).toContainEqual(await count(file));
      await publish();
      expect(await count(file), where).toEqual(COUNTED_NEW);
      expect(listLitter(file), where).toEqual([]);
    }
  });
});

/** Publishes with a disk that has no room for the nth step; undefined if there was no such step. */
async function fillDiskAt(n: number, folder: string, publish: () => Promise<unknown>) {
  let step: Step | undefined;
  const before = (one: Step) => {
    if (one.n !== n) return;
    step = one;
    throw one.name.startsWith('sql ')
      ? new Error(`IO Error: Could not write file "${folder}/out/x.duckdb": No space left on device`)
      : Object.assign(new Error('ENOSPC: no space left on device'), {
          code: 'ENOSPC',
          errno: -28,
          syscall: 'write',
        });
  };
  const undo = await hookSteps({ before }, (path) => path.startsWith(folder));
  const failure = await publish()
    .then(() => undefined)
    .catch((error: unknown) => error as { readonly exitCode: number })
    .finally(undo);
  return step && { step, exitCode: failure?.exitCode };
}
