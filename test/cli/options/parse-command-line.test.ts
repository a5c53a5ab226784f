import { describe, expect, it } from 'vitest';
import { commands } from '../../../src/cli/commands.ts';
import { HELP_COLUMNS, parseCommandLine } from '../../../src/cli/parse-command-line.ts';
import { nameTwin } from '../../../src/cli/options/option.ts';

async function readHelp(argv: readonly string[]): Promise<string> {
  const parsed = await parseCommandLine(argv, commands);
  return parsed.kind === 'help' ? parsed.text : '';
}

async function refuse(argv: readonly string[]): Promise<unknown> {
  return parseCommandLine(argv, commands).catch((error: unknown) => error);
}

describe('help', () => {
  const pages = [
    { name: 'sluice', argv: ['--help'] },
    { name: 'config', argv: ['config', '--help'] },
    ...commands.map(({ name }) => ({ name, argv: [...name.split(' '), '--help'] })),
  ];

  it.each(pages)('of $name is what it was', async ({ name, argv }) => {
    await expect(await readHelp(argv)).toMatchFileSnapshot(`help/${name.replace(' ', '-')}.txt`);
  });

  it.each(pages)('of $name fits 80 columns and ends with examples', async ({ argv }) => {
    const lines = (await readHelp(argv)).trimEnd().split('\n');
    expect(lines.filter((line) => line.length > HELP_COLUMNS)).toEqual([]);
    const examples = lines.slice(lines.indexOf('Examples:') + 1);
    expect(lines).toContain('Examples:');
    expect(examples.filter((line) => !line.startsWith('  '))).toEqual([]);
  });

  it.each([
    [['help'], ['--help']],
    [
      ['help', 'sync'],
      ['sync', '--help'],
    ],
    [
      ['--json', 'help', 'config', 'show'],
      ['config', 'show', '--help'],
    ],
    [
      ['help', 'config'],
      ['config', '--help'],
    ],
  ])('is a command as well: %j', async (argv, same) => {
    expect(await readHelp(argv)).toBe(await readHelp(same));
    expect(await readHelp(argv)).not.toBe('');
  });

  it('is refused for a command nobody knows', async () => {
    await expect(refuse(['help', 'snyc'])).resolves.toMatchObject({
      message: 'unknown command: snyc',
      hint: 'Did you mean sluice sync?',
    });
  });

  it('names the value of an option that takes one', async () => {
    const help = await readHelp(['sync', '--help']);
    expect(help).toMatch(/--force +Also sync[^]*--max-wait <time> /);
    expect(await readHelp(['simulate', '--help'])).toContain('--port <number>');
  });

  it('is distinguished from a command line without a command', async () => {
    await expect(parseCommandLine(['--help'], commands)).resolves.toMatchObject({ asked: true });
    await expect(parseCommandLine([], commands)).resolves.toMatchObject({ kind: 'help', asked: false });
  });
});

describe('a command line', () => {
  it('gives flags by name, with values as text', async () => {
    const argv = ['sync', '--streams', 'a,b', '--limit=5', '--force', '-c', 'x.yaml'];
    const parsed = await parseCommandLine(argv, commands);
    expect(parsed).toMatchObject({
      kind: 'run',
      name: 'sync',
      flags: { streams: 'a,b', limit: '5', force: true, config: 'x.yaml' },
    });
  });

  it('takes options before the command', async () => {
    const parsed = await parseCommandLine(['--json', '-c', 'x.yaml', 'status'], commands);
    expect(parsed).toMatchObject({ name: 'status', flags: { json: true, config: 'x.yaml' } });
  });

  it('takes the last of an option given twice', async () => {
    const parsed = await parseCommandLine(['sync', '--limit', '1', '--limit', '2'], commands);
    expect(parsed).toMatchObject({ flags: { limit: '2' } });
  });

  it('keeps SQL as it is', async () => {
    for (const sql of ['1', 'select -1 -- a', "select \"a=b\", 'it''s'", '  from x  ']) {
      await expect(parseCommandLine(['query', sql], commands)).resolves.toMatchObject({ argument: sql });
    }
    const parsed = await parseCommandLine(['query', '--', '--1 as comment'], commands);
    expect(parsed).toMatchObject({ argument: '--1 as comment' });
  });

  it.each(['-- top\nselect 1', '--\nselect 1', '--top\nselect 1 where a=1', '-- ', '--\t= 1'])(
    'takes SQL that begins with a comment: %j',
    async (sql) => {
      const argv = ['query', sql, '--format', 'csv'];
      await expect(parseCommandLine(argv, commands)).resolves.toMatchObject({
        argument: sql,
        flags: { format: 'csv' },
      });
    },
  );

  it('finds the command of a group', async () => {
    await expect(parseCommandLine(['config', 'show'], commands)).resolves.toMatchObject({
      name: 'config show',
    });
  });

  it('asks for the version', async () => {
    await expect(parseCommandLine(['--version'], commands)).resolves.toEqual({ kind: 'version' });
  });
});

describe('a wrong command line is refused with exit code 2', () => {
  it.each([
    { argv: ['snyc'], message: /unknown command: snyc/, hint: /Did you mean sluice sync\?/ },
    { argv: ['sync', '--fulll-refresh'], message: /--fulll-refresh/, hint: /Did you mean --full-refresh\?/ },
    { argv: ['sync', '--fullRefresh'], message: /--fullRefresh/, hint: /Did you mean --full-refresh\?/ },
    { argv: ['sync', '--max_wait', '5m'], message: /--max_wait/, hint: /Did you mean --max-wait\?/ },
    { argv: ['sync', '-x'], message: /unknown option: -x/, hint: /sluice sync --help/ },
    { argv: ['--wat'], message: /unknown option: --wat/, hint: /sluice --help/ },
    {
      argv: ['status', 'extra'],
      message: /status does not take "extra"/,
      hint: /For example: sluice status/,
    },
    { argv: ['query'], message: /query needs an SQL statement/, hint: /For example: sluice query/ },
    { argv: ['query', 'select', '1'], message: /quotes/, hint: /For example/ },
    { argv: ['config'], message: /config needs a command/, hint: /sluice config show/ },
    { argv: ['config', 'sho'], message: /unknown command: config sho/, hint: /sluice config show/ },
    {
      argv: ['query', '--top 5 of it'],
      message: /unknown option: --top 5 of it/,
      hint: /comes after --: sluice query -- "…"/,
    },
    { argv: ['sync', '--force=yes'], message: /--force only takes/, hint: /--force/ },
  ])('$argv', async ({ argv, message, hint }) => {
    const error = await refuse(argv);
    expect(error).toMatchObject({ exitCode: 2, code: 'usage_invalid' });
    expect(error).toHaveProperty('message', expect.stringMatching(message));
    expect(error).toHaveProperty('hint', expect.stringMatching(hint));
  });

  it.each([
    {
      argv: ['sync', '--deadline', '-1h'],
      message: '--deadline must be a duration longer than 0, not "-1h"',
    },
    { argv: ['sync', '--max-wait', '-5m'], message: '--max-wait must be 0 or a duration, not "-5m"' },
    {
      argv: ['sync', '--deadline', '-.5h'],
      message: '--deadline must be a duration longer than 0, not "-.5h"',
    },
    { argv: ['schedule', '--jitter', '-1h'], message: '--jitter must be 0 or a duration, not "-1h"' },
    {
      argv: ['mcp', '--call-timeout', '-1h'],
      message: '--call-timeout must be a duration longer than 0, not "-1h"',
    },
    { argv: ['sync', '--max-wait', '-h'], message: '--max-wait needs a value' },
    { argv: ['sync', '--max-wait', '--help'], message: '--max-wait needs a value' },
    { argv: ['sync', '--max-wait', '--help', '--max-wait', '5m'], message: '--max-wait needs a value' },
    { argv: ['sync', '--max-wait', '--version'], message: '--max-wait needs a value' },
    { argv: ['-c', '-h', 'sync'], message: '--config needs a value' },
    { argv: ['-c', '-1h', 'sync'], message: '--config needs a value' },
    { argv: ['--deadline', '-h', 'sync'], message: '--deadline needs a value' },
    ...['-1h', '-hc', '-hh', '-h5', '-h=1', '-.h'].flatMap((word) => [
      { argv: ['sync', word], message: `unknown option: ${word}` },
      { argv: [word], message: `unknown option: ${word}` },
    ]),
    { argv: ['config', '-1h'], message: 'unknown option: -1h' },
    { argv: ['sync', '-phunter2hunter2'], message: 'unknown option: -p' },
    ...['-ch', '-c-h', '-csluice.yaml'].flatMap((word) => [
      { argv: ['sync', word], message: '-c needs a space before its value' },
      { argv: [word], message: '-c needs a space before its value' },
    ]),
    { argv: ['sync', '--help=no'], message: '--help only takes the values true and false' },
  ])('which asks for no help: $argv', async ({ argv, message }) => {
    await expect(refuse(argv)).resolves.toMatchObject({ exitCode: 2, code: 'usage_invalid', message });
  });

  it.each([
    { argv: ['--log-level', 'help', 'sync'], flags: { 'log-level': 'help' } },
    { argv: ['-c', 'help', 'sync'], flags: { config: 'help' } },
    { argv: ['-c/-h.yaml', 'sync'], flags: { config: '/-h.yaml' } },
    { argv: ['sync', '-c=-h'], flags: { config: '-h' } },
    { argv: ['sync', '--deadline=-1h'], flags: { deadline: '-1h' } },
  ])('but not $argv, which asks for no help either', async ({ argv, flags }) => {
    await expect(parseCommandLine(argv, commands)).resolves.toMatchObject({ kind: 'run', flags });
  });

  it('with how a value that begins with a dash is written', async () => {
    await expect(refuse(['sync', '-c', '-1.yaml'])).resolves.toMatchObject({
      hint: 'Write one that begins with a dash as --config=-1.yaml',
    });
  });

  it.each(['--api-key', '--apikey', '--api_key', '--key', '--token', '--bearer-token', '--password', '-k'])(
    'a key given with %s, without repeating it',
    async (flag) => {
      for (const argv of [
        ['sync', flag, 'hunter2hunter2'],
        [flag, 'hunter2hunter2', 'sync'],
      ]) {
        const error = await refuse(argv);
        expect(error).toMatchObject({ exitCode: 2 });
        expect(error).toHaveProperty('hint', expect.stringMatching(/ANALYTICS_API_KEY/));
        expect(JSON.stringify(error) + String(error)).not.toContain('hunter2');
      }
    },
  );
});

describe('options', () => {
  it('have one twin each in the environment', () => {
    expect(nameTwin('max-wait')).toBe('SLUICE_MAX_WAIT');
  });
});
