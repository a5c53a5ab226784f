import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createMcpSource } from '../../../src/cli/commands/mcp-source.ts';
import { runCli } from '../../../src/cli/run-cli.ts';
import { ConfigError } from '../../../src/model/errors.ts';
import { createWorld, noGlobals, run, type World } from '../support/capture.ts';
import { makeKnownAccounts } from '../support/known-accounts.ts';

const { signal } = new AbortController();

function makeSource(world: World, allowed?: readonly string[]) {
  const { context, calls, stdout } = createWorld(world);
  return { source: createMcpSource(context, noGlobals, allowed), calls, stdout };
}

describe('mcp', () => {
  it('has no --json, because stdout is its protocol', async () => {
    await expect(run(['mcp', '--json'])).resolves.toMatchObject({ exitCode: 2, calls: [] });
  });

  it('says what is wrong with the config before it serves', async () => {
    const error = new ConfigError('no config', { code: 'config_not_found', hint: 'Write one.' });
    const { context, stdout, stderr } = createWorld({
      engine: { loadOfflineSettings: () => Promise.reject(error) },
    });
    const stdio = { input: new PassThrough(), output: new PassThrough() };
    await expect(runCli(['mcp'], { ...context, stdio })).resolves.toBe(2);
    expect(stdout.text()).toBe('');
    expect(stderr.text()).toBe('error: no config\nWrite one.\n');
  });

  it('ends with exit code 0 when its client does, and wrote nothing but its protocol', async () => {
    const { context, stdout, stderr, stop } = createWorld();
    const stdio = { input: new PassThrough(), output: new PassThrough() };
    stdio.input.end();
    await expect(runCli(['mcp', '-c', './a.yaml'], { ...context, stdio })).resolves.toBe(0);
    expect(stdout.text()).toBe('');
    expect(stderr.text()).toBe('MCP server on stdin and stdout for ./a.yaml\n');
    expect(stop()).toBe('close');
  });
});

describe('a message that is not one of the protocol', () => {
  it('is a warning of one line', async () => {
    const { context, stderr } = createWorld();
    const stdio = { input: new PassThrough(), output: new PassThrough() };
    stdio.input.end('{"jsonrpc":"2.0"}\n');
    await expect(runCli(['mcp', '-c', './a.yaml'], { ...context, stdio })).resolves.toBe(0);
    expect(stderr.text().trim().split('\n').slice(1)).toEqual([
      'warning: the client sent a message that is not part of the protocol; it was ignored',
    ]);
  });
});

describe('what the tools ask', () => {
  it('is a SELECT over the published file, without a key', async () => {
    const { source, calls } = makeSource({});
    await source.query('from t', { maxRows: 5, signal });
    expect(calls.map(({ name }) => name)).toEqual(['loadOfflineSettings', 'queryPublished']);
    expect(calls[1]?.arguments).toEqual([
      '/data/warehouse.duckdb',
      'from t',
      { maxRows: 5, signal, onlySelects: true },
    ]);
  });

  it('is what commands give with --json, and none of it goes to stdout', async () => {
    const list = { total: 1, reasons: [], records: [] };
    const { source, calls, stdout } = makeSource({ engine: { listQuarantine: () => Promise.resolve(list) } });
    await expect(source.quarantine({ streams: 'a,b', limit: 0, signal })).resolves.toEqual(list);
    expect(calls.at(-1)?.arguments[1]).toEqual({ streams: ['a', 'b'], limit: 0 });
    await expect(source.runs({ signal })).resolves.toEqual([]);
    expect(stdout.text()).toBe('');
  });

  it('is an error of the command where it failed', async () => {
    const error = new ConfigError('no run x', { code: 'usage_invalid', hint: 'See runs.' });
    const { source } = makeSource({ engine: { readRun: () => Promise.reject(error) } });
    await expect(source.runs({ runId: 'x', signal })).rejects.toBe(error);
  });

  it('is about the accounts that the server may show', async () => {
    const listAccounts = () => Promise.resolve(makeKnownAccounts(['acme', 'globex']));
    const queryAccounts = () => Promise.resolve({ columns: [], rows: [], leftOut: [] });
    const engine = { listAccounts, queryAccounts };
    const { source, calls } = makeSource({ engine }, ['acme']);
    await source.query('from t', { maxRows: 5, signal });
    await source.query('from t', { maxRows: 5, signal, account: 'acme' });
    expect(calls.map(({ arguments: [asked] }) => (asked as { names: unknown }).names)).toEqual([
      ['acme'],
      ['acme'],
    ]);
    await expect(source.query('from t', { maxRows: 5, signal, account: 'globex' })).rejects.toThrow(
      'this server does not show the account globex',
    );
    await expect(source.status({ signal, account: 'globex' })).rejects.toThrow('does not show');
    const { source: open } = makeSource({ engine });
    await expect(open.query('from t', { maxRows: 5, signal, account: 'nobody' })).rejects.toThrow('nobody');
  });
});
