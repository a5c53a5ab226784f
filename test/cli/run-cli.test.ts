import { describe, expect, it } from 'vitest';
import {
  AuthError,
  BugError,
  ConfigError,
  LockedError,
  QuotaError,
  StorageError,
} from '../../src/model/errors.ts';
import { run } from './support/capture.ts';
import { SECRET } from './support/fake-engine.ts';
import { makeRunReport } from './support/reports.ts';

const words = { code: 'bug', hint: 'Do this next.' } as const;

describe('exit codes come from the error', () => {
  it.each([
    { error: new ConfigError('x', words), exitCode: 2 },
    { error: new AuthError('x', words), exitCode: 3 },
    { error: new StorageError('x', words), exitCode: 6 },
    { error: new LockedError('x', words), exitCode: 75 },
    { error: new QuotaError('x', words), exitCode: 75 },
    { error: new BugError('x', words), exitCode: 1 },
    { error: new TypeError('x is not a function'), exitCode: 1 },
  ])('$error.name: $exitCode', async ({ error, exitCode }) => {
    const result = await run(['sync'], { engine: { runSync: () => Promise.reject(error) } });
    expect(result).toMatchObject({ exitCode, stdout: '' });
    expect(result.stderr).toMatch(/^error: /m);
  });

  it('or from the report of a sync', async () => {
    const report = makeRunReport({ exitCode: 5, status: 'partial' });
    const result = await run(['sync'], { engine: { runSync: () => Promise.resolve(report) } });
    expect(result.exitCode).toBe(5);
  });
});

describe('an error', () => {
  it('says what to do next, and shows no stack', async () => {
    const engine = { runSync: () => Promise.reject(new ConfigError('it broke', words)) };
    const { stderr } = await run(['sync'], { engine });
    expect(stderr).toBe('error: it broke\nDo this next.\n');
  });

  it('of ours shows the stack of its cause', async () => {
    const engine = { runSync: () => Promise.reject(new RangeError('out of bounds')) };
    const { stderr } = await run(['sync'], { engine });
    expect(stderr).toContain('error: unexpected: out of bounds');
    expect(stderr).toMatch(/^ +at /m);
  });

  it('never shows the key, in any form', async () => {
    const encoded = Buffer.from(SECRET).toString('base64');
    const engine = { runSync: () => Promise.reject(new Error(`refused ${SECRET} ${encoded}`)) };
    for (const argv of [['sync'], ['sync', '--json']]) {
      const { stdout, stderr } = await run(argv, { engine });
      expect(stdout + stderr).toContain('[redacted]');
      expect(stdout + stderr).not.toContain(SECRET);
      expect(stdout + stderr).not.toContain(encoded);
    }
  });

  it('cannot steer the terminal or forge a line', async () => {
    const message = 'answered \u001b[2Jx\rerror: all fine\u009b31m';
    const engine = { runSync: () => Promise.reject(new ConfigError(message, words)) };
    const { stderr } = await run(['sync'], { engine });
    expect(stderr.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});

describe('--json', () => {
  it('is one object on one line with the same six members', async () => {
    const { stdout, exitCode } = await run(['sync', '--json', '--no-progress']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    const envelope = JSON.parse(stdout) as Record<string, unknown>;
    expect(Object.keys(envelope)).toEqual(['command', 'ok', 'exitCode', 'summary', 'result', 'error']);
    expect(envelope).toMatchObject({ command: 'sync', ok: true, exitCode: 0, error: null });
    expect(exitCode).toBe(0);
  });

  it('keeps every member of a result, null where nothing is known', async () => {
    const { stdout } = await run(['sync', '--json']);
    const { result } = JSON.parse(stdout) as { result: { resumeAt: unknown; streams: { error: unknown }[] } };
    expect(result.resumeAt).toBeNull();
    expect(result.streams[0]?.error).toBeNull();
  });

  it.each([
    { argv: ['--json'], env: {}, command: null },
    { argv: ['--json', 'snyc'], env: {}, command: null },
    { argv: ['sync', '--json', '--wat'], env: {}, command: 'sync' },
    { argv: ['sync', '--limit', '0', '--json'], env: {}, command: 'sync' },
    { argv: ['sync'], env: { SLUICE_JSON: '1', SLUICE_LIMIT: 'banana' }, command: 'sync' },
    { argv: ['query', '--json'], env: {}, command: 'query' },
  ])('tells a usage error as well: $argv $env', async ({ argv, env, command }) => {
    const { stdout, exitCode } = await run(argv, { env });
    expect(exitCode).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      command,
      ok: false,
      exitCode: 2,
      result: null,
      error: { code: 'usage_invalid' },
    });
  });

  it('names the error of a run that failed', async () => {
    const error = { code: 'quota_exhausted', message: 'm', hint: 'h', exitCode: 75 } as const;
    const report = makeRunReport({ exitCode: 75, error });
    const { stdout } = await run(['sync', '--json'], { engine: { runSync: () => Promise.resolve(report) } });
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, exitCode: 75, error: { code: 'quota_exhausted' } });
  });
});

describe('a command that speaks a protocol', () => {
  const protocols = ['mcp', 'singer', 'airbyte spec', 'airbyte check', 'airbyte discover', 'airbyte read'];

  it.each(protocols)('has no --json: %s', async (name) => {
    for (const argv of [
      [...name.split(' '), '--json'],
      ['--json', ...name.split(' ')],
      [...name.split(' '), '--json=true', '--config', 'x.yaml'],
    ]) {
      const { exitCode, stdout, stderr, calls } = await run(argv);
      expect({ exitCode, stdout, calls }).toEqual({ exitCode: 2, stdout: '', calls: [] });
      expect(stderr).toContain(`error: sluice ${name} speaks a protocol on stdout, so it has no --json`);
    }
  });

  it.each(['true', 'banana', 'false'])('does the same with SLUICE_JSON=%s', async (word) => {
    for (const name of protocols) {
      const argv = [...name.split(' '), '--config', 'x.yaml'];
      const { exitCode, stdout } = await run(argv, { env: { SLUICE_JSON: word } });
      const without = await run(argv);
      expect({ exitCode, stdout }).toEqual({ exitCode: without.exitCode, stdout: without.stdout });
      expect(stdout).not.toContain('"command"');
    }
  });

  it.each([
    ['airbyte', '--json'],
    ['airbyte', 'chekc', '--json'],
    ['--json', '-c', 'x.yaml', 'airbyte', 'read', '--wat'],
    ['--catalog', 'x.json', '--json', 'airbyte', 'read', '--wat'],
    ['singer', '--json', '--wat'],
    ['mcp', '--json', '--call-timeout', '-1h'],
  ])('prints nothing on stdout for a wrong command line: %s %s', async (...argv) => {
    for (const env of [{}, { SLUICE_JSON: 'true' }])
      await expect(run(argv, { env })).resolves.toMatchObject({ exitCode: 2, stdout: '' });
  });
});

describe('--log-format json', () => {
  it.each([
    { argv: ['sync', '--log-format', 'json'], env: {} },
    { argv: ['sync', '--log-format=json'], env: {} },
    { argv: ['sync'], env: { SLUICE_LOG_FORMAT: 'json' } },
  ])('makes a line of what fails before a run: $argv $env', async ({ argv, env }) => {
    const engine = { loadSettings: () => Promise.reject(new ConfigError('it\nbroke', words)) };
    const { stderr, stdout } = await run(argv, { engine, env });
    expect(stdout).toBe('');
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(stderr)).toEqual({
      level: 'error',
      time: '2026-11-20T13:48:00.000Z',
      code: 'bug',
      hint: 'Do this next.',
      exitCode: 2,
      msg: 'it broke',
    });
  });

  it('makes one of a wrong command line, too, and of none', async () => {
    for (const argv of [['snyc', '--log-format', 'json'], ['--log-format=json']]) {
      const { stderr } = await run(argv);
      expect(JSON.parse(stderr)).toMatchObject({ level: 'error', code: 'usage_invalid' });
    }
  });
});

describe('on a narrow terminal', () => {
  it('an error and help wrap between words', async () => {
    const error = new ConfigError('one two three four five six seven', words);
    const { stderr } = await run(['sync'], {
      engine: { loadSettings: () => Promise.reject(error) },
      columns: 30,
      env: { NO_COLOR: '1' },
    });
    expect(stderr).toContain('error: one two three four five\nsix seven\n');
    for (const columns of [40, 60]) {
      const { stdout } = await run(['sync', '--help'], { columns });
      const options = stdout.slice(0, stdout.indexOf('Examples:')).split('\n');
      expect(options.filter((line) => line.length > columns)).toEqual([]);
    }
  });
});

describe('without a command', () => {
  it('help goes to stderr with exit code 2', async () => {
    const { exitCode, stdout, stderr } = await run([]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('sluice demo');
  });
});

describe('--help and --version', () => {
  it('go to stdout with exit code 0', async () => {
    await expect(run(['--help'])).resolves.toMatchObject({ exitCode: 0, stderr: '' });
    await expect(run(['--version'])).resolves.toMatchObject({ exitCode: 0, stdout: '9.9.9\n' });
  });

  it('are one object with --json', async () => {
    const { stdout } = await run(['--version', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ command: 'version', ok: true, summary: '9.9.9' });
  });
});
