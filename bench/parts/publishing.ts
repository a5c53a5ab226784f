import { constants, copyFileSync, mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measure, type Measured } from '../support/children.ts';
import { type Finding, median, type PartOptions, writeCount, writeNumber } from '../support/finding.ts';
import { makeLargeTable } from '../support/large-table.ts';

// Restated rows are asked for by the time of their change, and lie in folders of their date.
const stream = {
  key: ['id'],
  cursor: { field: 'observedAt', param: 'startDate', lookback: '1d' },
  partitionBy: ['date'],
};

const days = [
  { name: 'first', mode: 'recent', version: 1 },
  { name: 'newest 1 % restated', mode: 'recent', version: 2 },
  { name: '1 % all over restated', mode: 'scattered', version: 3 },
] as const;

/** What the syncs of `days` took, in their order. */
type Round = readonly Measured[];

/** Publishing by itself: the DuckDB file, copied or with shared blocks, and the lake, first and after changes. */
export async function measurePublishing(options: PartOptions): Promise<readonly Finding[]> {
  const rows = options.size ?? 10_000_000;
  const rounds = await measureRounds(options, rows, options.folder);
  const isReflink = canShareBlocks(options.folder);
  const other = process.env['REFLINK_DIR'];
  const shared = isReflink
    ? rounds
    : other === undefined
      ? undefined
      : await measureElsewhere(options, rows, other);
  return [
    {
      title: `Publishing ${writeCount(rows)} rows`,
      head: ['', ...days.flatMap(({ name }) => [`${name}, s`, 'MB'])],
      rows: [
        describe('DuckDB file, copied', isReflink ? undefined : rounds, 'publishSeconds', 'publishedBytes'),
        describe('DuckDB file, blocks shared (reflink)', shared, 'publishSeconds', 'publishedBytes'),
        describe('lake', rounds, 'lakeSeconds', 'lakeBytes'),
      ],
      notes: [
        `MB: of the DuckDB file its size, of the lake what was written. Medians of ${rounds.length}. The file is checkpointed, read through, copied, brought to the disk and renamed.`,
        'The lake has a folder for each of 200 days: the newest 1 % lies in two of them, 1 % all over in every one, and a day that changed is rewritten. The table is filled in SQL as in the part below.',
        ...(shared === undefined
          ? [
              'No file system that shares blocks was at hand; `REFLINK_DIR` names a folder on one (btrfs, or xfs).',
            ]
          : []),
      ],
    },
  ];
}

async function measureElsewhere(
  options: PartOptions,
  rows: number,
  parent: string,
): Promise<readonly Round[]> {
  const folder = mkdtempSync(join(parent, 'sluice-bench-'));
  try {
    if (!canShareBlocks(folder))
      throw new Error(`REFLINK_DIR: the file system of ${parent} shares no blocks`);
    return await measureRounds(options, rows, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measureRounds(options: PartOptions, rows: number, parent: string): Promise<readonly Round[]> {
  const rounds: Round[] = [];
  for (let at = 1; at <= (options.repeats ?? 3); at += 1) {
    options.say(`publishing: ${writeCount(rows)} rows, round ${at}`);
    const folder = join(parent, `publish-${at}`);
    mkdirSync(folder);
    rounds.push(await measureRound(options, rows, folder));
    rmSync(folder, { recursive: true });
  }
  return rounds;
}

async function measureRound({ build }: PartOptions, rows: number, folder: string): Promise<Round> {
  const pages = await makeLargeTable(build, folder, rows, stream);
  const more = JSON.stringify({ stream, destination: { parquet: './lake' } });
  const round: Measured[] = [];
  try {
    for (const { mode, version } of days) {
      await pages.tell({ mode, version });
      round.push(await measure(build.script('sync-once'), [pages.origin, folder, '100', more]));
    }
    return round;
  } finally {
    pages.stop();
  }
}

function describe(
  name: string,
  rounds: readonly Round[] | undefined,
  seconds: 'publishSeconds' | 'lakeSeconds',
  bytes: 'publishedBytes' | 'lakeBytes',
): readonly string[] {
  const cells = days.flatMap((_, day) => {
    if (rounds === undefined) return ['not measured', ''];
    const of = (what: keyof Measured) => median(rounds.map((round) => round[day]?.[what] ?? NaN));
    return [writeNumber(of(seconds)), writeNumber(of(bytes) / 1e6)];
  });
  return [name, ...cells];
}

/** Whether copies in a folder can share the blocks of what they are copies of. */
function canShareBlocks(folder: string): boolean {
  const [from, to] = [join(folder, 'blocks'), join(folder, 'blocks-shared')];
  writeFileSync(from, 'x'.repeat(8_192));
  try {
    copyFileSync(from, to, constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(from);
    rmSync(to, { force: true });
  }
}
