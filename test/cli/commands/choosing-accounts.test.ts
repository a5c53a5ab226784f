import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/cli/frame/engine.ts';
import { run } from '../support/capture.ts';
import { makeKnownAccounts } from '../support/known-accounts.ts';
import type { OfflineSettings } from '../../../src/model/settings.ts';

/** An engine with these accounts; the state folder of each has its name. */
function makeEngine(answers: Partial<Engine>, names = ['acme', 'globex', 'globex-eu']): Partial<Engine> {
  return {
    listAccounts: () => Promise.resolve(makeKnownAccounts(names)),
    loadOfflineSettings: ({ account }) =>
      Promise.resolve({
        stateDir: account?.name,
        notify: {},
        destinations: [],
      } as unknown as OfflineSettings),
    ...answers,
  };
}

describe('a command with the result of one account', () => {
  const exportSchema: Engine['exportSchema'] = ({ stateDir }) =>
    Promise.resolve({
      format: 'sql',
      streams: [stateDir],
      files: [{ stream: stateDir, text: `-- of ${stateDir}` }],
    });
  const argv = ['schema', 'export', '--format', 'sql'];

  it('asks for a name where several accounts are meant, before it reads anything', async () => {
    const { stderr, exitCode, calls } = await run(argv, { engine: makeEngine({ exportSchema }) });
    expect(exitCode).toBe(2);
    expect(calls).toEqual([]);
    expect(stderr).toBe(
      'error: this works on one account at a time, and 3 are selected\nName one, e.g. --accounts acme.\n',
    );
    const some = await run([...argv, '--accounts', 'glob*'], { engine: makeEngine({ exportSchema }) });
    expect(some.exitCode).toBe(2);
    expect(some.stderr).toContain('2 are selected\nName one, e.g. --accounts globex.\n');
  });

  it('gives the result of the named one as that of a config without accounts', async () => {
    const engine = makeEngine({ exportSchema });
    const { stdout, exitCode } = await run([...argv, '--accounts', 'globex'], { engine });
    expect([exitCode, stdout]).toEqual([0, '-- of globex\n']);
    const { stdout: json } = await run([...argv, '--json', '--accounts', 'globex'], { engine });
    expect(JSON.parse(json)).toMatchObject({ ok: true, result: { streams: ['globex'] } });
  });

  it('needs no name where the config has a single account', async () => {
    const { stdout } = await run(argv, { engine: makeEngine({ exportSchema }, ['acme']) });
    expect(stdout).toBe('-- of acme\n');
  });

  it.each([
    ['runs', ['runs', 'run-1'], ['runs']],
    ['discover', ['discover', '--write'], ['discover']],
  ] as const)('may depend on how it is called: %s', async (_, one, each) => {
    const refused = await run(one, { engine: makeEngine({}) });
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain('one account at a time');
    expect((await run(each, { engine: makeEngine({}) })).stderr).not.toContain('one account at a time');
  });
});

describe('--accounts', () => {
  const ask = (argv: readonly string[], engine = makeEngine({})) => run(argv, { engine });

  it('with a name that the config does not have suggests the nearest', async () => {
    const { stderr, exitCode, calls } = await ask(['verify', '--accounts', 'acme,globx']);
    expect(exitCode).toBe(2);
    expect(calls).toEqual([]);
    expect(stderr).toBe(
      'error: no account is called "globx"; did you mean "globex"?\nThe config has acme, globex, globex-eu.\n',
    );
  });

  it('with a pattern that finds none says which accounts there are', async () => {
    const { stderr, stdout, exitCode } = await ask(['verify', '--accounts', 'initech*']);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain('error: no account is called "initech*"');
    expect(stderr).toContain('The config has acme, globex, globex-eu.');
    const { stdout: json } = await ask(['verify', '--json', '--accounts', 'initech*']);
    expect(JSON.parse(json)).toMatchObject({
      command: 'verify',
      exitCode: 2,
      result: null,
      error: { code: 'usage_invalid' },
    });
  });

  it.each(['../acme', 'ACME', 'a b', '', ','])('refuses %j', async (text) => {
    const { exitCode, calls, stderr } = await ask(['verify', `--accounts=${text}`]);
    expect(exitCode).toBe(2);
    expect(calls).toEqual([]);
    expect(stderr).toContain('--accounts');
  });

  it.each([
    ['verify'],
    ['plan'],
    ['sync'],
    ['status'],
    ['report'],
    ['docs'],
    ['query', 'SELECT 1'],
    ['schema', 'export'],
  ])('is refused where the config has no accounts: %s', async (...argv) => {
    const { stderr, exitCode, calls } = await ask([...argv, '--accounts', 'acme'], {});
    expect(exitCode).toBe(2);
    const work = [
      'verifyState',
      'planSync',
      'runSync',
      'readStatus',
      'makeReport',
      'makeDictionary',
      'streamPublished',
      'exportSchema',
    ];
    expect(calls.filter(({ name }) => work.includes(name))).toEqual([]);
    expect(stderr).toBe(
      'error: an account was named, but the config has no accounts\n' +
        'Leave --accounts or the account out, or write accounts: into the config; docs/accounts.md shows how.\n',
    );
  });

  it.each([
    ['accounts', 'list'],
    ['accounts', 'remove', 'old'],
  ])('is refused by a command that takes no accounts: %s %s', async (...argv) => {
    const { stderr, exitCode } = await ask([...argv, '--accounts', 'acme']);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/accounts/);
  });
});

describe('a command about the accounts themselves', () => {
  it('says what to write where the config has none', async () => {
    const { stderr, exitCode } = await run(['accounts', 'list']);
    expect(exitCode).toBe(2);
    expect(stderr).toBe(
      'error: the config has no accounts\nWrite accounts: into it; docs/accounts.md shows how.\n',
    );
  });
});
