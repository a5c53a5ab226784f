import { describe, expect, it } from 'vitest';
import { collectSecrets, hideSqliteWarning } from '../../src/cli/prepare-process.ts';
import { createOutput } from '../../src/cli/terminal/output.ts';
import { createCapture } from './support/capture.ts';

function describeStderr(env: NodeJS.ProcessEnv, columns?: number) {
  const stderr = createCapture(columns);
  return createOutput({ stdout: createCapture(), stderr, env, mask: (text) => text }).stderr;
}

describe('colours', () => {
  it.each([
    { env: {}, columns: 80, has: true },
    { env: {}, columns: undefined, has: false },
    { env: { NO_COLOR: '1' }, columns: 80, has: false },
    { env: { NO_COLOR: '' }, columns: 80, has: true },
    { env: { NO_COLOR: '1', FORCE_COLOR: '1' }, columns: 80, has: false },
    { env: { FORCE_COLOR: '1' }, columns: undefined, has: true },
    { env: { CI: 'true' }, columns: 80, has: false },
    { env: { CI: 'false' }, columns: 80, has: true },
    { env: { TERM: 'dumb' }, columns: 80, has: false },
  ])('$env, $columns columns: $has', ({ env, columns, has }) => {
    const terminal = describeStderr(env, columns);
    expect(terminal.hasColours).toBe(has);
    expect(terminal.paint('red', 'x') !== 'x').toBe(has);
  });
});

describe('a terminal', () => {
  it('has a width, and nothing else has', () => {
    expect(describeStderr({}, 132).columns()).toBe(132);
    expect(describeStderr({}).columns()).toBeUndefined();
  });

  it.each([
    [{ LANG: 'en_US.UTF-8' }, true],
    [{ LANG: 'C' }, false],
    [{ LANG: 'en_US.UTF-8', LC_ALL: 'POSIX' }, false],
  ])('with %j has Unicode: %s', (env, has) => expect(describeStderr(env, 80).hasUnicode).toBe(has));
});

describe('collectSecrets', () => {
  it('finds what looks like a key and leaves words alone', () => {
    const env = {
      ANALYTICS_API_KEY: 'sk-0123456789',
      MY_TOKEN: ' t0123456789\n',
      TOKEN: 'short',
      KEYBOARD: 'qwertzuiop',
      HOME: '/home/someone',
    };
    expect(collectSecrets(env)).toEqual(['sk-0123456789', 't0123456789']);
  });
});

describe('hideSqliteWarning', () => {
  it('hides that one warning only', () => {
    const shown: unknown[] = [];
    const host = {
      emitWarning(warning: string | Error, ..._details: unknown[]) {
        shown.push(warning);
      },
    };
    hideSqliteWarning(host);
    host.emitWarning('SQLite is an experimental feature', 'ExperimentalWarning');
    host.emitWarning('SQLite is an experimental feature', { type: 'ExperimentalWarning' });
    host.emitWarning('Something else is experimental', 'ExperimentalWarning');
    host.emitWarning('SQLite is old', 'DeprecationWarning');
    expect(shown).toEqual(['Something else is experimental', 'SQLite is old']);
  });
});
