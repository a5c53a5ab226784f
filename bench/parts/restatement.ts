import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { measure, type Measured } from '../support/children.ts';
import {
  type Finding,
  median,
  type PartOptions,
  writeCount,
  writeGoal,
  writeNumber,
} from '../support/finding.ts';
import { makeLargeTable, SEED_ROWS } from '../support/large-table.ts';

type Mode = 'recent' | 'scattered' | 'fixed';

interface Result {
  readonly mode: Mode;
  readonly size: number;
  readonly days: readonly Measured[];
  readonly fileBytes: number;
}

const names: Readonly<Record<Mode, string>> = {
  recent: 'newest 1 %',
  scattered: '1 % all over',
  fixed: 'newest 1,000',
};
const byDate = { key: ['id', 'date'], cursor: { field: 'date', param: 'startDate', lookback: '1d' } };
const config: Readonly<Record<Mode, object>> = {
  recent: byDate,
  fixed: byDate,
  scattered: { key: ['id'], cursor: { field: 'observedAt', param: 'startDate', lookback: '1d' } },
};

/** A day that restates one in a hundred rows, against the size of the table. */
export async function measureRestatement(options: PartOptions): Promise<readonly Finding[]> {
  const largest = options.size ?? 10_000_000;
  const sizes = [...new Set([Math.ceil(largest / 100), Math.ceil(largest / 10), largest])];
  const results: Result[] = [];
  for (const mode of ['recent', 'scattered', 'fixed'] as const) {
    for (const size of sizes) {
      options.say(`restatement: ${names[mode]} of ${writeCount(size)} rows`);
      results.push(await measureTable(options, size, mode));
    }
  }
  return [
    {
      title: 'A day of restatements, by the size of the table',
      head: [
        'rows changed',
        'table',
        'changed',
        'load, s',
        'median',
        'load, CPU s',
        'changed rows/s',
        'fetch, s',
        'publish, s',
        'file, MB',
        'peak MB',
      ],
      rows: results.map(writeRow),
      ratios: {
        'a day of 1,000 rows: load into the smallest table, of that into the largest': compareSizes(results),
      },
      notes: [
        ...judge(results),
        'Load: from the last page to the commit, with preparing, merging, the checkpoint and packing the archive in it; the best of three days, which whatever else the machine did disturbed least, and the median next to it. Fetching and publishing are not in it; of them the medians.',
        "The table is one a first sync of its newest thousand rows made, filled up in SQL with the rows that sync would have made of the others, in the work file: same columns, same run. Everything after that is the product's own.",
        'Newest: of the newest two of 200 days, asked for by date. All over: every hundredth row of the table, asked for by the time of the change.',
      ],
    },
  ];
}

async function measureTable(options: PartOptions, size: number, mode: Mode): Promise<Result> {
  const folder = join(options.folder, `${mode}-${size}`);
  mkdirSync(folder);
  const pages = await makeLargeTable(options.build, folder, size, config[mode]);
  try {
    const days: Measured[] = [];
    for (let version = 1; version <= (options.repeats ?? 3); version += 1) {
      await pages.tell({ mode, version });
      const more = JSON.stringify({ stream: config[mode] });
      const day = await measure(options.build.script('sync-once'), [pages.origin, folder, '100', more]);
      const expected = mode === 'fixed' ? Math.min(SEED_ROWS, size) : Math.ceil(size / 100);
      if (day.changed !== expected) throw new Error(`${day.changed} rows changed, not ${expected}`);
      days.push(day);
    }
    return { mode, size, days, fileBytes: statSync(join(folder, 'warehouse.duckdb')).size };
  } finally {
    pages.stop();
    rmSync(folder, { recursive: true });
  }
}

function writeRow({ mode, size, days, fileBytes }: Result): readonly string[] {
  const of = (what: keyof Measured) => middle(days, what);
  return [
    names[mode],
    writeCount(size),
    writeCount(of('changed')),
    writeNumber(best(days, 'loadSeconds')),
    writeNumber(of('loadSeconds')),
    writeNumber(best(days, 'loadCpuSeconds')),
    writeCount(of('changed') / best(days, 'loadSeconds')),
    writeNumber(of('fetchSeconds')),
    writeNumber(of('publishSeconds')),
    writeNumber(fileBytes / 1e6),
    writeCount(Math.max(...days.map(({ peakMb }) => peakMb))),
  ];
}

/** Load into the smallest table over that into the largest: near 1 where a day costs what it brings. */
function compareSizes(results: readonly Result[]): number {
  const days = results.filter(({ mode }) => mode === 'fixed').toSorted((a, b) => a.size - b.size);
  return best(days[0]?.days ?? [], 'loadSeconds') / best(days.at(-1)?.days ?? [], 'loadSeconds');
}

function middle(days: readonly Measured[], what: keyof Measured): number {
  return median(days.map((day) => day[what]));
}

function best(days: readonly Measured[], what: keyof Measured): number {
  return Math.min(...days.map((day) => day[what]));
}

function judge(results: readonly Result[]): readonly string[] {
  return results
    .filter(({ mode, size }) => mode !== 'fixed' && size === Math.max(...results.map((one) => one.size)))
    .map(({ mode, size, days }) => {
      const seconds = best(days, 'loadSeconds');
      const what = `${names[mode]} of ${writeCount(size)} rows loads in less than a second`;
      return writeGoal(
        what,
        seconds < 1,
        `${writeNumber(seconds)} s, median ${writeNumber(middle(days, 'loadSeconds'))} s`,
      );
    });
}
