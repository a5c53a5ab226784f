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
    expect(insertConfig(text, 'other.yaml', commands)).toBe(named);
  });

  it.each([
    'sluice sync -c other.yaml',
    'sluice sync --full-refresh --config other.yaml',
    'See sluice sync --help',
    'try `sluice demo`, or sluice init',
    'sluice synchronises',
    'the sluice is open',
  ])('stay as they are where they name one, or need none: %s', (text) => {
    expect(insertConfig(text, 'other.yaml', commands)).toBe(text);
  });

  it('quote a name with a space, and stay valid in JSON', () => {
    const text = insertConfig(JSON.stringify({ hint: 'run `sluice sync`' }), 'my config.yaml', commands);
    expect(JSON.parse(text)).toEqual({ hint: "run `sluice -c 'my config.yaml' sync`" });
    expect(insertConfig('sluice sync', 'a"b.yaml', commands)).toBe('sluice sync');
  });

  it.each([
    [['plan', '-c', 'other.yaml'], 'sluice -c other.yaml rebuild'],
    [['--config=other.yaml', 'plan', '--json'], 'sluice -c other.yaml rebuild'],
    [['plan', '--', '-c', 'other.yaml'], 'sluice rebuild'],
    [['plan'], 'sluice rebuild'],
  ])('are those of %j', async (argv, command) => {
    const error = new ConfigError('it failed', { code: 'config_invalid', hint: 'Run `sluice rebuild`.' });
    const { stdout, stderr } = await run(argv, { engine: { planSync: () => Promise.reject(error) } });
    const told = `${stdout}${stderr}`;
    if (!argv.includes('--')) expect(told).toContain(`Run \`${command}\`.`);
    else expect(told).not.toContain('other.yaml rebuild');
  });
});
