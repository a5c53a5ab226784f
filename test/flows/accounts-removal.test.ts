import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { queryCopy } from '../support/published.ts';
import { type AccountsFlow, createAccountsFlow } from '../support/accounts-flow.ts';

const REMOVE = ['accounts', 'remove', 'old', '--data', '--yes'];

interface Removed {
  readonly deleted: boolean;
  readonly places: readonly {
    readonly kind: string;
    readonly path: string;
    readonly files: number;
    readonly bytes: number;
  }[];
  readonly kept: readonly { readonly path: string; readonly why: string }[];
}

/** Accounts acme and old, synced; the config then has acme alone. */
async function makeLeft(config?: Readonly<Record<string, unknown>>): Promise<AccountsFlow> {
  const flow = createAccountsFlow({ names: ['acme', 'old'], ...(config && { config }) });
  expect((await flow.sync()).exitCode).toBe(0);
  flow.writeConfig(['acme']);
  return flow;
}

const put = (flow: AccountsFlow, path: string, text = 'mine'): string => {
  const file = join(flow.folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
};

const remove = async (flow: AccountsFlow, args = REMOVE): Promise<Removed> => {
  const { stdout, exitCode } = await flow.run([...args, '--json']);
  expect(exitCode, stdout).toBe(0);
  return (JSON.parse(stdout) as { readonly result: Removed }).result;
};

const listed = async (flow: AccountsFlow): Promise<readonly string[]> => {
  const { stdout } = await flow.run(['accounts', 'list', '--json']);
  const { result } = JSON.parse(stdout) as {
    readonly result: {
      readonly accounts: readonly { readonly account: string; readonly inConfig: boolean }[];
    };
  };
  return result.accounts.filter(({ inConfig }) => !inConfig).map(({ account }) => account);
};

describe('removing an account', () => {
  it("leaves and names every file that is somebody else's, wherever it lies", async () => {
    const flow = await makeLeft();
    const [table = ''] = readdirSync(join(flow.folder, 'lake/account=old/_generations'));
    const [generation = ''] = readdirSync(join(flow.folder, 'lake/account=old/_generations', table));
    const own = [
      '.sluice/old/my-notes.txt',
      '.sluice/old/archive/notes/deep/a.txt',
      '.sluice/old/stage/b.csv',
      '.sluice/old/work.duckdb.mine',
      'lake/account=old/users-own.csv',
      `lake/account=old/_generations/${table}/${generation}/mine.parquet`,
      'accounts/old.duckdb.bak',
    ].map((path) => put(flow, path));
    const { places, kept } = await remove(flow);
    for (const path of own) expect(existsSync(path), path).toBe(true);
    const named = kept.map(({ path }) => path);
    for (const path of own.filter((one) => !one.endsWith('.bak')))
      expect(
        named.some((one) => path === one || path.startsWith(`${one}/`)),
        path,
      ).toBe(true);
    expect(places.map(({ kind }) => kind)).toEqual(['duckdb', 'parquet', 'stateDir']);
    expect(readdirSync(join(flow.folder, '.sluice/old')).toSorted()).toEqual([
      'archive',
      'my-notes.txt',
      'stage',
      'work.duckdb.mine',
    ]);
  });

  it('takes its rows out of what joins all accounts, whose views would fail', async () => {
    const flow = await makeLeft({
      destination: { parquet: './lake/account=${account}', combined: './all.duckdb' },
    });
    const read = (file: string) =>
      queryCopy(join(flow.folder, file), 'SELECT DISTINCT account FROM prompts_analytics ORDER BY 1');
    expect((await read('all.duckdb')).rows).toEqual([{ account: 'acme' }, { account: 'old' }]);
    await remove(flow);
    expect((await read('all.duckdb')).rows).toEqual([{ account: 'acme' }]);
    const views = await flow.run(['query', 'SELECT count(*) FROM prompts_analytics']);
    expect(views.exitCode).toBe(0);
    writeFileSync(join(flow.folder, 'all.duckdb'), 'a file of somebody else');
    flow.writeConfig(['acme', 'old']);
    await flow.sync();
    flow.writeConfig(['acme']);
    const { exitCode, stdout } = await flow.run(REMOVE);
    expect(exitCode).toBe(5);
    expect(stdout).toContain('The files of all accounts together: ');
    expect(existsSync(join(flow.folder, 'lake/account=old'))).toBe(false);
  });

  it('says what it would delete with the number of files and their size', async () => {
    const flow = await makeLeft();
    const shown = await remove(flow, ['accounts', 'remove', 'old']);
    expect(shown.deleted).toBe(false);
    for (const { path, files, bytes } of shown.places) {
      expect(existsSync(path)).toBe(true);
      expect(files).toBeGreaterThan(0);
      expect(bytes).toBeGreaterThan(10_000);
    }
    const { stdout } = await flow.run(['accounts', 'remove', 'old']);
    expect(stdout).toMatch(/accounts\/old\.duckdb {2}1 file, [\d.]+ MB\n/);
  });

  it('leaves a folder that is not a state folder, whatever its files are called', async () => {
    const flow = await makeLeft({
      stateDir: './${account}',
      destination: { duckdb: './accounts/${account}.duckdb' },
    });
    put(flow, 'other/runs.json', '[]');
    put(flow, 'other/lock.sqlite', '');
    put(flow, 'other/work.duckdb', 'not a database');
    put(flow, 'other/thesis.txt');
    expect(await listed(flow)).toEqual(['old']);
    const shown = await flow.run(['accounts', 'remove', 'other']);
    expect(shown.stdout).toContain('nothing in it shows that it is a state folder');
    const { exitCode, stderr } = await flow.run(['accounts', 'remove', 'other', '--data', '--yes']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Nothing was deleted');
    expect(readdirSync(join(flow.folder, 'other'))).toHaveLength(4);
  });

  it('leaves the state folder and the file of another config that fit the pattern', async () => {
    const flow = await makeLeft({
      stateDir: './${account}',
      destination: { duckdb: './${account}.duckdb' },
    });
    // Another config of the same API: its state folder and its file have names that an account could have.
    renameSync(join(flow.folder, 'old'), join(flow.folder, 'state-of-one'));
    renameSync(join(flow.folder, 'old.duckdb'), join(flow.folder, 'warehouse.duckdb'));
    const record = join(flow.folder, 'state-of-one/destination.json');
    writeFileSync(record, readFileSync(record, 'utf8').replace('old.duckdb', 'warehouse.duckdb'));
    expect(await listed(flow)).toEqual([]);
    for (const [name, why] of [
      ['warehouse', 'no state folder'],
      ['state-of-one', 'of another destination'],
    ] as const) {
      const { exitCode, stderr } = await flow.run(['accounts', 'remove', name, '--data', '--yes']);
      expect({ name, exitCode }).toEqual({ name, exitCode: 2 });
      expect(stderr).toContain(why);
    }
    expect(existsSync(join(flow.folder, 'warehouse.duckdb'))).toBe(true);
    expect(existsSync(join(flow.folder, 'state-of-one/work.duckdb'))).toBe(true);
  });

  it('leaves a published file that another state folder has put in the place of its own', async () => {
    const flow = await makeLeft();
    rmSync(join(flow.folder, 'accounts/old.duckdb'));
    cpSync(join(flow.folder, 'accounts/acme.duckdb'), join(flow.folder, 'accounts/old.duckdb'));
    const { places, kept } = await remove(flow);
    expect(places.map(({ kind }) => kind)).toEqual(['parquet', 'stateDir']);
    expect(kept.map(({ path }) => path)).toEqual([join(flow.folder, 'accounts/old.duckdb')]);
    expect(existsSync(join(flow.folder, 'accounts/old.duckdb'))).toBe(true);
  });

  it('deletes what it published also where a backup of the file was put back', async () => {
    const flow = await makeLeft();
    const file = join(flow.folder, 'accounts/old.duckdb');
    cpSync(file, `${file}.copy`);
    rmSync(file);
    renameSync(`${file}.copy`, file);
    await remove(flow);
    expect(existsSync(file)).toBe(false);
  });

  it('says why it leaves what was published once the state folder is gone', async () => {
    const flow = await makeLeft();
    rmSync(join(flow.folder, '.sluice/old'), { recursive: true });
    expect(await listed(flow)).toEqual([]);
    const { exitCode, stderr } = await flow.run(REMOVE);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('accounts/old.duckdb: no state folder of the account says');
    expect(existsSync(join(flow.folder, 'accounts/old.duckdb'))).toBe(true);
  });

  it('deletes nothing while a file of somebody else lies in the folder of a table, and says what to do', async () => {
    const flow = await makeLeft();
    const mine = 'lake/account=old/prompts_analytics/mine/notes.txt';
    put(flow, mine, 'mine');
    const { exitCode, stderr } = await flow.run(['accounts', 'remove', 'old', '--data', '--yes']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('lake/account=old/prompts_analytics holds files that Sluice did not put there');
    expect(stderr).toContain('Nothing was deleted. Move what is yours away');
    for (const place of [mine, '.sluice/old/work.duckdb', 'accounts/old.duckdb'])
      expect(existsSync(join(flow.folder, place)), place).toBe(true);
  });

  it('follows no link out of a place', async () => {
    const flow = await makeLeft();
    const outside = put(flow, 'outside/scan.json');
    symlinkSync(dirname(outside), join(flow.folder, '.sluice/old/stage/away'));
    symlinkSync(outside, join(flow.folder, '.sluice/old/totals.json'));
    const { kept } = await remove(flow);
    expect(existsSync(outside)).toBe(true);
    expect(kept.map(({ path }) => path).toSorted()).toEqual([
      join(flow.folder, '.sluice/old/stage/away'),
      join(flow.folder, '.sluice/old/totals.json'),
    ]);
  });

  it('goes on where an earlier removal was interrupted', async () => {
    const flow = await makeLeft();
    rmSync(join(flow.folder, 'accounts/old.duckdb'));
    for (const name of ['archive', 'stage', 'tmp'])
      rmSync(join(flow.folder, '.sluice/old', name), { recursive: true, force: true });
    await remove(flow);
    for (const place of ['.sluice/old', 'lake/account=old'])
      expect(existsSync(join(flow.folder, place)), place).toBe(false);
  });

  it('deletes the state of an account that never got an answer', async () => {
    const flow = createAccountsFlow({ names: ['acme', 'old'], revoked: ['old'] });
    await flow.sync();
    flow.writeConfig(['acme']);
    expect(await listed(flow)).toEqual(['old']);
    expect((await remove(flow)).kept).toEqual([]);
    expect(existsSync(join(flow.folder, '.sluice/old'))).toBe(false);
  });
});

describe('what is left of accounts', () => {
  it('is neither what the config names nor a file of somebody else', async () => {
    const flow = createAccountsFlow({
      names: ['acme'],
      config: { destination: { duckdb: './${account}.duckdb', combined: './all.duckdb' } },
    });
    await flow.sync();
    put(flow, 'foreign.duckdb', '');
    linkSync(join(flow.folder, 'acme.duckdb'), join(flow.folder, 'copy.duckdb'));
    expect(await listed(flow)).toEqual([]);
    expect((await flow.run(['status'])).stdout).not.toMatch(/all|foreign|copy/);
    const { exitCode, stderr } = await flow.run(['accounts', 'remove', 'all', '--data', '--yes']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('nothing is left of the account all');
    expect(existsSync(join(flow.folder, 'all.duckdb'))).toBe(true);
  });
});
