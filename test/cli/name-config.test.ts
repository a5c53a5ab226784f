import { describe, expect, it } from 'vitest';
import { insertConfig } from '../../src/cli/name-config.ts';
import { ConfigError } from '../../src/model/errors.ts';
import { run } from './support/capture.ts';

const commands = ['sync', 'state reset', 'rebuild', 'demo', 'init'];

describe('commands that are printed', () => {
  it.each([
    ['run `sluice sync --force` once', 'run `sluice -c other.yaml sync --force` once'],
    ['`sluice state reset a --drop-tables`', '`sluice -c other.yaml state reset a --drop-tables`'],
    ['run sluice\n  rebuild', 'run sluice -c other.yaml\n  rebuild'],
    ['sluice sync; then sluice rebuild', 'sluice -c other.yaml sync; then sluice -c other.yaml rebuild'],
  ])('name the config that the command line names: %s', (text, named) => {
    expect(insertConfig('other.yaml', commands)(text)).toBe(named);
  });

  it.each([
    'sluice sync -c other.yaml',
    'sluice sync --full-refresh --config other.yaml',
    'See sluice sync --help',
    'try `sluice demo`, or sluice init',
    'sluice synchronises',
    'the sluice is open',
  ])('stay as they are where they name one, or need none: %s', (text) => {
    expect(insertConfig('other.yaml', commands)(text)).toBe(text);
  });

  it('quote a name with a space, and stay valid in JSON', () => {
    const text = insertConfig('my config.yaml', commands)(JSON.stringify({ hint: 'run `sluice sync`' }));
    expect(JSON.parse(text)).toEqual({ hint: "run `sluice -c 'my config.yaml' sync`" });
    expect(insertConfig('a"b.yaml', commands)('sluice sync')).toBe('sluice sync');
  });

  const error = new ConfigError('it failed', { code: 'config_invalid', hint: 'Run `sluice rebuild`.' });
  const engine = { planSync: () => Promise.reject(error) };

  it.each([
    [['plan', '-c', 'other.yaml'], 'sluice -c other.yaml rebuild'],
    [['--config=other.yaml', 'plan', '--json'], 'sluice -c other.yaml rebuild'],
    [['plan'], 'sluice rebuild'],
  ])('are those of %j', async (argv, command) => {
    const { stdout, stderr } = await run(argv, { engine });
    expect(`${stdout}${stderr}`).toContain(`Run \`${command}\`.`);
  });

  it('are as in the documentation in a help', async () => {
    const named = await run(['sync', '--help', '-c', 'other.yaml'], { engine });
    expect(named.stdout).toContain('sluice sync');
    expect(named.stdout).toBe((await run(['sync', '--help'], { engine })).stdout);
  });
});
