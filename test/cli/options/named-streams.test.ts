import { describe, expect, it } from 'vitest';
import { commands } from '../../../src/cli/commands.ts';
import { parseCommandLine } from '../../../src/cli/parse-command-line.ts';

async function read(line: string) {
  const parsed = await parseCommandLine(line.split(' '), commands);
  if (parsed.kind !== 'run') throw new Error(`not a command: ${line}`);
  return { streams: parsed.flags['streams'], argument: parsed.argument };
}

describe('streams', () => {
  it.each([
    'sync items,mentions',
    'sync items mentions',
    'sync --streams items,mentions',
    'sync --streams items --streams mentions',
    'plan items,mentions',
  ])('of a command with an option are named by either form: %s', async (line) => {
    expect(await read(line)).toEqual({ streams: 'items,mentions', argument: undefined });
  });

  it.each([
    'verify items,mentions',
    'verify items mentions',
    'verify --streams items,mentions',
    'verify --streams items --streams mentions',
    'state show --streams=items,mentions',
    'quarantine retry --streams items,mentions',
  ])('of a command with words are named by either form: %s', async (line) => {
    expect(await read(line)).toEqual({ streams: undefined, argument: 'items,mentions' });
  });

  it('may be named by both forms where they agree', async () => {
    expect(await read('sync mentions items --streams items,mentions')).toMatchObject({
      streams: 'items,mentions',
    });
  });

  it.each(['sync items --streams mentions', 'verify items --streams mentions'])(
    'that differ are refused: %s',
    async (line) => {
      await expect(read(line)).rejects.toThrow(
        'streams are named twice: items as words, mentions by --streams',
      );
    },
  );

  it('are not taken by a command that has none', async () => {
    await expect(read('report items')).rejects.toThrow('does not take "items"');
  });
});

it('a word too many says how several are named where one word may name them', async () => {
  const [several, spaced] = ['separate several by commas', 'put a text with spaces in quotes'];
  await expect(read('fleet run acme globex')).rejects.toThrow(`fleet run does not take "globex"; ${several}`);
  await expect(read('query select 1')).rejects.toThrow(`query does not take "1"; ${spaced}`);
});

it('another list that is given twice means all of it, and of other values the last one counts', async () => {
  const line = 'sync --accounts acme --limit 5 --accounts globex --json --limit 6 --json';
  const parsed = await parseCommandLine(line.split(' '), commands);
  expect(parsed).toMatchObject({ flags: { accounts: 'acme,globex', limit: '6', json: true } });
});
