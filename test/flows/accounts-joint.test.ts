import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AccountsReport } from '../../src/model/accounts-report.ts';
import { type AccountsFlow, createAccountsFlow } from '../support/accounts-flow.ts';
import { queryFiles } from '../support/read-lake.ts';
import { HOUR_MS } from '../support/sync-harness.ts';

const NAMES = ['acme', 'globex', 'initech'];
const LAKES: object = { parquet: './lake/account=${account}' };
const FILES: object = { duckdb: './p/${account}/w.duckdb' };
const COMBINED = { combined: './all.duckdb' };
const VIEWS = 'lake/lake.duckdb';
const ALL = 'all.duckdb';
const SELECT = 'SELECT account, count(*)::INTEGER AS n FROM prompts_analytics GROUP BY 1 ORDER BY 1';

function createFlow(destination: object, names: readonly string[] = NAMES, config: object = {}) {
  return createAccountsFlow({ names, config: { destination, ...config } });
}

async function nextDay(flow: AccountsFlow, args: readonly string[] = []): Promise<AccountsReport> {
  flow.simulator.advanceDay();
  await flow.clock.sleep(24 * HOUR_MS);
  return flow.sync(args);
}

/** The accounts of which a file has rows. */
async function namesIn(flow: AccountsFlow, file: string): Promise<readonly unknown[]> {
  return (await queryFiles(SELECT, join(flow.folder, file))).map(({ account }) => account);
}

function codesOf({ accounts }: AccountsReport): readonly number[] {
  return accounts.map(({ exitCode }) => exitCode);
}

function swap(flow: AccountsFlow, one: string, other: string): void {
  const [a, b, away] = [one, other, 'away'].map((name) => join(flow.folder, name)) as [
    string,
    string,
    string,
  ];
  renameSync(a, away);
  renameSync(b, a);
  renameSync(away, b);
}

describe('an account whose published file is not there', () => {
  it.each([
    ['its folder', FILES, 'p/globex'],
    ['its lake', LAKES, 'lake/account=globex'],
    ['the catalog of its lake', LAKES, 'lake/account=globex/lake.duckdb'],
  ])('keeps its rows where all are joined, and is named: %s', async (_, destination, place) => {
    const flow = createFlow({ ...destination, ...COMBINED });
    expect((await flow.sync()).exitCode).toBe(0);
    const files = [ALL, ...(destination === LAKES ? [VIEWS] : [])];
    renameSync(join(flow.folder, place), join(flow.folder, 'away'));
    const report = await nextDay(flow, ['--accounts', 'acme']);
    expect([report.exitCode, codesOf(report)]).toEqual([5, [0]]);
    expect(report.error?.message).toContain('account globex: ');
    expect(report.error?.message).toContain('was published before and is missing');
    expect(report.error?.hint).toMatch(/sluice -c \S+ sync --accounts globex/);
    const query = await flow.run(['query', SELECT]);
    expect(query.exitCode).toBe(6);
    expect(query.stderr).toContain('account globex: ');
    const others = await flow.run(['query', SELECT, '--accounts', 'acme,initech', '--format', 'csv']);
    expect(others.exitCode).toBe(0);
    renameSync(join(flow.folder, 'away'), join(flow.folder, place));
    for (const file of files) expect(await namesIn(flow, file), file).toEqual(NAMES);
    expect((await flow.sync(['--accounts', 'acme'])).exitCode).toBe(0);
  });

  it('is known from what was joined before, even without its state', async () => {
    const flow = createFlow({ ...FILES, ...COMBINED });
    await flow.sync();
    for (const place of ['p/globex', '.sluice/globex']) rmSync(join(flow.folder, place), { recursive: true });
    const report = await nextDay(flow, ['--accounts', 'acme']);
    expect(report).toMatchObject({ exitCode: 5, error: { exitCode: 6 } });
    expect(report.error?.message).toContain('globex');
    expect(await namesIn(flow, ALL)).toEqual(NAMES);
  });

  it('is not taken for one that published nothing, if the path cannot be looked at', async () => {
    const flow = createFlow({ ...FILES, ...COMBINED });
    await flow.sync(['--accounts', 'acme,initech']);
    mkdirSync(join(flow.folder, 'p'), { recursive: true });
    // A link to itself cannot be followed by anybody, not even by root.
    symlinkSync('globex', join(flow.folder, 'p/globex'));
    const report = await flow.sync(['--accounts', 'acme']);
    expect(report).toMatchObject({ exitCode: 5, error: { exitCode: 6 } });
    expect(report.error?.message).toContain('account globex: ');
    expect((await flow.run(['query', SELECT])).exitCode).toBe(6);
  });

  it('is left out if it has published nothing yet', async () => {
    const flow = createFlow({ ...FILES, ...COMBINED });
    const report = await flow.sync(['--accounts', 'acme,initech']);
    expect(report).toMatchObject({ exitCode: 0, files: [{ leftOut: ['globex'] }] });
    const query = await flow.run(['query', SELECT, '--format', 'csv']);
    expect([query.exitCode, query.stderr]).toEqual([
      0,
      expect.stringContaining('Not published yet, so without rows here: globex'),
    ]);
  });
});

describe('an account whose places are not known', () => {
  it.each([
    ['destination', { destination: { parquet: '${NOPE}/lake' } }],
    ['stateDir', { stateDir: '${NOPE}/state' }],
  ])('leaves neither the views nor a query without a word: %s', async (_, own) => {
    const flow = createFlow({ ...LAKES, ...COMBINED });
    await flow.sync();
    flow.writeConfig(NAMES, { globex: own });
    const report = await nextDay(flow);
    expect([report.exitCode, codesOf(report)]).toEqual([5, [0, 2, 0]]);
    for (const file of [VIEWS, ALL]) {
      expect(report.error?.message).toContain(
        `${join(flow.folder, file)} was not replaced: it is not known where the data of globex is`,
      );
      expect(await namesIn(flow, file), file).toEqual(NAMES);
    }
    const query = await flow.run(['query', SELECT]);
    expect(query.exitCode).toBe(2);
    expect(query.stderr).toContain('it is not known where the data of globex is');
    expect((await flow.run(['query', SELECT, '--accounts', 'acme'])).exitCode).toBe(0);
  });
});

describe('the published file of another account', () => {
  it.each([
    ['DuckDB files', FILES, 'p/acme/w.duckdb', 'p/globex/w.duckdb', []],
    ['lakes', LAKES, 'lake/account=acme', 'lake/account=globex', []],
    ['files of runs with one id', FILES, 'p/acme/w.duckdb', 'p/globex/w.duckdb', ['--run-id', 'nightly']],
  ])('gives no row to the joint files and queries: %s', async (_, destination, one, other, args) => {
    const flow = createFlow({ ...destination, ...COMBINED });
    expect((await flow.sync(args)).exitCode).toBe(0);
    const files = [ALL, ...(destination === LAKES ? [VIEWS] : [])];
    const before = files.map((file) => readFileSync(join(flow.folder, file), 'base64'));
    swap(flow, one, other);
    const report = await nextDay(flow, ['--accounts', 'initech']);
    expect([report.exitCode, codesOf(report)]).toEqual([5, [0]]);
    expect(report.error?.message).toMatch(
      /account acme: .*(is the published file of globex|was not published from its state folder)/,
    );
    expect(report.error).toMatchObject({ code: 'publish_refused', exitCode: 2 });
    expect(files.map((file) => readFileSync(join(flow.folder, file), 'base64'))).toEqual(before);
    const query = await flow.run(['query', SELECT]);
    expect(query.exitCode).toBe(2);
    expect(query.stderr).toContain('account acme: ');
    swap(flow, one, other);
    expect((await nextDay(flow)).exitCode).toBe(0);
  });

  it.each([
    ['places beside one another', LAKES, {}, ['.sluice/NAME', 'lake/account=NAME']],
    [
      'one folder for each',
      { duckdb: './p/${account}/w.duckdb' },
      { stateDir: './p/${account}/s' },
      ['p/NAME'],
    ],
  ])('gives no row where its state folder was moved with it: %s', async (_, destination, config, places) => {
    const flow = createFlow({ ...destination, ...COMBINED }, NAMES, config);
    expect((await flow.sync()).exitCode).toBe(0);
    const files = [ALL, ...(destination === LAKES ? [VIEWS] : [])];
    const before = files.map((file) => readFileSync(join(flow.folder, file), 'base64'));
    const swapAll = (all: readonly string[]) => {
      for (const place of all)
        swap(flow, ...(['acme', 'globex'].map((name) => place.replace('NAME', name)) as [string, string]));
    };
    swapAll(places);
    const report = await nextDay(flow);
    expect([report.exitCode, codesOf(report)]).toEqual([5, [2, 2, 0]]);
    expect(report.error?.message).toContain('account acme: ');
    expect(report.error?.message).toContain('was published by globex, whose state folder was moved to');
    expect(files.map((file) => readFileSync(join(flow.folder, file), 'base64'))).toEqual(before);
    for (const accounts of ['*', 'acme,initech'])
      expect((await flow.run(['query', SELECT, '--accounts', accounts])).exitCode).toBe(2);
    // With the keys moved as well, the two have each other's name, from their next sync on.
    swapAll(['keys/NAME']);
    const renamed = await nextDay(flow);
    expect([renamed.exitCode, codesOf(renamed)]).toEqual([0, [0, 0, 0]]);
    expect((await flow.run(['query', SELECT])).exitCode).toBe(0);
  });

  it('is not what a published file without its state is, nor one from a backup', async () => {
    const flow = createFlow({ ...FILES, ...COMBINED });
    await flow.sync();
    const file = join(flow.folder, 'p/acme/w.duckdb');
    const backup = readFileSync(file);
    await nextDay(flow);
    rmSync(file);
    writeFileSync(file, backup);
    rmSync(join(flow.folder, '.sluice/globex'), { recursive: true });
    expect((await flow.sync(['--accounts', 'initech'])).exitCode).toBe(0);
    expect((await flow.run(['query', SELECT])).exitCode).toBe(0);
  });
});

describe('the files that join accounts', () => {
  it('are written one without the other', async () => {
    const flow = createFlow({ ...LAKES, ...COMBINED });
    mkdirSync(join(flow.folder, 'lake'));
    writeFileSync(join(flow.folder, VIEWS), 'a file of somebody else');
    const report = await flow.sync();
    expect(report).toMatchObject({ exitCode: 5, error: { code: 'publish_refused' } });
    expect(report.files.map(({ path }) => path)).toEqual([join(flow.folder, ALL)]);
    expect(await namesIn(flow, ALL)).toEqual(NAMES);
    writeFileSync(join(flow.folder, ALL), 'another one');
    const both = (await nextDay(flow)).error?.message;
    for (const file of [VIEWS, ALL]) expect(both).toContain(join(flow.folder, file));
  });

  it('follow a config in which all accounts have other names, and no other config', async () => {
    const flow = createFlow({ ...LAKES, ...COMBINED }, ['acme', 'globex', 'new', 'other']);
    flow.writeConfig(['acme', 'globex']);
    await flow.sync();
    flow.writeConfig(['new']);
    expect((await flow.sync()).exitCode).toBe(0);
    for (const file of [VIEWS, ALL]) expect(await namesIn(flow, file), file).toEqual(['new']);
    // The same files, named by a config in another folder.
    const second = createAccountsFlow({
      names: ['other'],
      config: {
        destination: {
          parquet: join(flow.folder, 'lake/account=${account}'),
          combined: join(flow.folder, ALL),
        },
      },
    });
    const { exitCode, stdout } = await second.run(['sync']);
    expect(exitCode).toBe(5);
    expect(stdout).toContain('has the data of other accounts (new)');
    for (const file of [VIEWS, ALL]) expect(await namesIn(flow, file), file).toEqual(['new']);
  });
});

describe('an account that is removed with its data', () => {
  it('leaves views and combined file first', async () => {
    const flow = createFlow({ ...LAKES, ...COMBINED });
    await flow.sync();
    flow.writeConfig(['acme', 'initech']);
    expect((await flow.run(['accounts', 'remove', 'globex', '--data', '--yes'])).exitCode).toBe(0);
    for (const file of [VIEWS, ALL]) expect(await namesIn(flow, file), file).toEqual(['acme', 'initech']);
  });

  it('takes views with it that cannot be written again, and says so', async () => {
    const flow = createFlow({ ...LAKES, ...COMBINED });
    await flow.sync();
    flow.writeConfig(['acme', 'initech']);
    renameSync(join(flow.folder, 'lake/account=acme'), join(flow.folder, 'away'));
    const { exitCode, stdout, stderr } = await flow.run(['accounts', 'remove', 'globex', '--data', '--yes']);
    expect(exitCode).toBe(5);
    expect(stdout).toContain('account acme: ');
    expect(stderr).toContain(`${join(flow.folder, VIEWS)} was removed`);
    expect(stderr).toContain(`${join(flow.folder, ALL)} still has the rows of globex`);
    expect(existsSync(join(flow.folder, VIEWS))).toBe(false);
    renameSync(join(flow.folder, 'away'), join(flow.folder, 'lake/account=acme'));
    expect((await flow.sync()).exitCode).toBe(0);
    for (const file of [VIEWS, ALL]) expect(await namesIn(flow, file), file).toEqual(['acme', 'initech']);
  });

  it('leaves nothing where all others have published nothing', async () => {
    const flow = createFlow({ ...LAKES, ...COMBINED });
    await flow.sync(['--accounts', 'globex']);
    flow.writeConfig(['acme']);
    expect((await flow.run(['accounts', 'remove', 'globex', '--data', '--yes'])).exitCode).toBe(0);
    for (const file of [VIEWS, ALL]) expect(existsSync(join(flow.folder, file)), file).toBe(false);
  });
});

describe('views over all lakes', () => {
  const stopped = (stop: AbortController) => ({
    signal: stop.signal,
    engine: {
      publishJoint: () => {
        throw new Error('the run was stopped before');
      },
    },
  });

  it('stay readable while lakes are published again and nobody writes the views', async () => {
    const flow = createFlow(LAKES, ['acme', 'globex'], { retention: { lake: '1h' } });
    await flow.sync();
    const before = await queryFiles(SELECT, join(flow.folder, VIEWS));
    for (let day = 0; day < 3; day += 1) {
      flow.simulator.advanceDay();
      await flow.clock.sleep(24 * HOUR_MS);
      const stop = new AbortController();
      await flow.run(['sync'], stopped(stop));
      await flow.run(['rebuild', '--yes']);
    }
    expect(await queryFiles(SELECT, join(flow.folder, VIEWS))).toEqual(before);
    expect((await nextDay(flow)).exitCode).toBe(0);
    expect(await queryFiles(SELECT, join(flow.folder, VIEWS))).not.toEqual(before);
  });

  it('go before what they name has to go', async () => {
    const flow = createFlow(LAKES, ['acme', 'globex'], { retention: { lake: '1h' } });
    await flow.sync();
    const masked = { streams: { prompts_analytics: { columns: { workspace: { exclude: true } } } } };
    flow.writeConfig(['acme', 'globex'], { acme: masked });
    const wereThere = [];
    for (let day = 0; day < 3; day += 1) {
      await flow.clock.sleep(24 * HOUR_MS);
      await flow.run(['sync', '--full-refresh'], stopped(new AbortController()));
      wereThere.push(existsSync(join(flow.folder, VIEWS)));
      if (existsSync(join(flow.folder, VIEWS)))
        expect(await namesIn(flow, VIEWS)).toEqual(['acme', 'globex']);
    }
    expect(wereThere).toEqual([true, false, false]);
    expect((await flow.sync()).exitCode).toBe(0);
    expect(await namesIn(flow, VIEWS)).toEqual(['acme', 'globex']);
  });
});
