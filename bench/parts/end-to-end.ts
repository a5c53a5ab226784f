import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordShape } from '../records.ts';
import { measure, type Measured, serve } from '../support/children.ts';
import { type ProcessFacts, runWell, writeProject } from '../support/cli-process.ts';
import {
  type Finding,
  median,
  type PartOptions,
  writeCount,
  writeGoal,
  writeNumber,
} from '../support/finding.ts';
import { profileInto, readHotSpots } from '../support/profile.ts';

interface Round {
  readonly floor: Measured;
  readonly first: Measured;
  readonly again: Measured;
  readonly restated: Measured;
  readonly afternoon: Measured;
  readonly afternoonRestated: Measured;
}

const names: Readonly<Record<keyof Round, string>> = {
  floor: 'floor: fetch, `JSON.parse`, zod',
  first: 'first sync',
  again: 'the same data again',
  restated: '1 % restated, all pages read',
  afternoon: "an afternoon's script",
  afternoonRestated: "an afternoon's script, 1 % restated",
};

/** Processes from their start to their end: the sync is the command line's, publishing included. */
interface Whole {
  readonly floor: ProcessFacts;
  readonly bare: ProcessFacts;
  readonly sync: ProcessFacts;
}

const wholeNames: Readonly<Record<keyof Whole, string>> = {
  floor: 'floor',
  bare: 'bare pipeline',
  sync: 'first sync',
};

/** From HTTP to the commit, with the quota lifted, next to the floor and a script. */
export async function measureEndToEnd(options: PartOptions): Promise<readonly Finding[]> {
  const rows = options.size ?? 1_000_000;
  const rounds: Round[] = [];
  for (let at = 1; at <= (options.repeats ?? 3); at += 1) {
    options.say(`end to end: ${writeCount(rows)} rows, round ${at}`);
    rounds.push(await measureRound(options, rows, makeFolder(options, `round-${at}`)));
  }
  const wholes: Readonly<Record<RecordShape, Whole[]>> = { flat: [], nested: [] };
  for (let at = 1; at <= (options.repeats ?? 3); at += 1)
    for (const shape of ['flat', 'nested'] as const) {
      options.say(`end to end: whole processes, ${shape} records, round ${at}`);
      wholes[shape].push(await measureWhole(options, rows, shape));
    }
  options.say('end to end: profile');
  return [
    tabulate(rows, rounds),
    tabulateWholes(rows, wholes),
    await profile(options, rows, makeFolder(options, 'profile')),
  ];
}

async function measureWhole(options: PartOptions, rows: number, shape: RecordShape): Promise<Whole> {
  const folder = makeFolder(options, `whole-${shape}`);
  const { build } = options;
  const pages = await serve(build.script('serve-pages'), [String(rows), shape]);
  writeProject(folder, pages.origin);
  try {
    const run = (script: string) =>
      runWell([build.script(script), pages.origin, String(rows), shape], { cwd: folder });
    const floor = await run('floor');
    const bare = await run('bare');
    const sync = await runWell([build.cli, 'sync', '--no-progress'], { cwd: folder });
    return { floor, bare, sync };
  } finally {
    pages.stop();
    rmSync(folder, { recursive: true });
  }
}

function tabulateWholes(rows: number, wholes: Readonly<Record<RecordShape, readonly Whole[]>>): Finding {
  const shapes = ['flat', 'nested'] as const;
  type Unit = 'seconds' | 'cpuSeconds';
  const best = (shape: RecordShape, what: keyof Whole, unit: Unit) =>
    Math.min(...wholes[shape].map((round) => round[what][unit] ?? NaN));
  const share = (shape: RecordShape, what: keyof Whole, unit: Unit, of: keyof Whole = 'floor') =>
    best(shape, of, unit) / best(shape, what, unit);
  const table = shapes.flatMap((shape) =>
    (['floor', 'bare', 'sync'] as const).map((what) => [
      `${shape} records: ${wholeNames[what]}`,
      writeNumber(best(shape, what, 'seconds')),
      writeNumber(best(shape, what, 'cpuSeconds')),
      writeCount(rows / best(shape, what, 'seconds') / 1_000),
      `${writeCount(share(shape, what, 'seconds') * 100)} %`,
      `${writeCount(share(shape, what, 'cpuSeconds') * 100)} %`,
      writeCount(Math.max(...wholes[shape].map((round) => round[what].peakMb ?? NaN))),
    ]),
  );
  return {
    title: `Whole processes, start and publishing included, ${writeCount(rows)} rows`,
    head: ['', 's', 'CPU s', 'thousand rows/s', 'of the floor', 'of the floor, CPU', 'peak MB'],
    rows: table,
    ratios: Object.fromEntries(
      shapes.flatMap((shape) => [
        [`first sync of ${shape} records, of the floor`, share(shape, 'sync', 'seconds')],
        [`first sync of ${shape} records, of the floor by CPU`, share(shape, 'sync', 'cpuSeconds')],
        [`first sync of ${shape} records, of the bare pipeline`, share(shape, 'sync', 'seconds', 'bare')],
      ]),
    ),
    notes: [
      'Nested records have a list of two objects, a nested object, and decimals of 17 digits; flat ones are those of the table above. The sync is `sluice sync` of the built command line. The best of the rounds.',
      'The bare pipeline does the least that keeps the pages in this way, and nothing else: records cut out and observed, a SHA-256 of each page, one compressed file, which the engine loads on one thread, a checkpoint, a copy for readers. It keeps no quota and no archive, proves nothing, and has to begin again after a crash.',
    ],
  };
}

function makeFolder({ folder }: PartOptions, name: string): string {
  const made = join(folder, name);
  mkdirSync(made);
  return made;
}

async function measureRound(options: PartOptions, rows: number, folder: string): Promise<Round> {
  const pages = await serve(options.build.script('serve-pages'), [String(rows)]);
  const sync = () => measure(options.build.script('sync-once'), [pages.origin, folder]);
  const script = () => measure(options.build.script('afternoon'), [pages.origin, folder]);
  try {
    const floor = await measure(options.build.script('floor'), [pages.origin, String(rows)]);
    const first = await sync();
    const again = await sync();
    const afternoon = await script();
    await pages.tell({ changedEvery: 100 });
    return { floor, first, again, restated: await sync(), afternoon, afternoonRestated: await script() };
  } finally {
    pages.stop();
    rmSync(folder, { recursive: true });
  }
}

function tabulate(rows: number, rounds: readonly Round[]): Finding {
  const table = (Object.keys(names) as (keyof Round)[]).map((name) => {
    const best = (one: keyof Round, what: 'seconds' | 'cpuSeconds') => least(rounds, one, what);
    return [
      names[name],
      writeNumber(best(name, 'seconds')),
      writeNumber(median(rounds.map((round) => round[name].seconds))),
      writeNumber(best(name, 'cpuSeconds')),
      writeCount(rows / best(name, 'seconds') / 1_000),
      `${writeCount((best('floor', 'seconds') / best(name, 'seconds')) * 100)} %`,
      `${writeCount((best('floor', 'cpuSeconds') / best(name, 'cpuSeconds')) * 100)} %`,
      writeCount(Math.max(...rounds.map((round) => round[name].peakMb))),
    ];
  });
  const againShare = least(rounds, 'floor', 'seconds') / least(rounds, 'again', 'seconds');
  const half = least(rounds, 'floor', 'seconds') / least(rounds, 'first', 'seconds');
  return {
    title: `From HTTP to the commit, ${writeCount(rows)} rows, pages of 100`,
    head: ['', 's', 'median', 'CPU s', 'thousand rows/s', 'of the floor', 'of the floor, CPU', 'peak MB'],
    rows: table,
    ratios: {
      'first sync to the commit, of the floor': half,
      'the same data again, of the floor': againShare,
    },
    notes: [
      writeGoal(
        'a first sync reaches at least half of the floor',
        half >= 0.5,
        `${writeNumber(half * 100)} %`,
      ),
      `The best of ${rounds.length} rounds, which whatever else the machine did disturbed least, and the median next to it; the share is that of the best floor. Staging, archive, joints, quarantine check and checkpoint are on. Publishing and the start of the process are not in it.`,
      "CPU s counts all threads of the process, the engine's too. The pages come from another process, which needs a core of its own.",
    ],
  };
}

function least(rounds: readonly Round[], name: keyof Round, what: 'seconds' | 'cpuSeconds'): number {
  return Math.min(...rounds.map((round) => round[name][what]));
}

async function profile(options: PartOptions, rows: number, folder: string): Promise<Finding> {
  const pages = await serve(options.build.script('serve-pages'), [String(rows)]);
  try {
    const profiles = join(folder, 'profiles');
    const measured = await measure(
      options.build.script('sync-once'),
      [pages.origin, folder],
      profileInto(profiles),
    );
    const spots = readHotSpots(profiles, 10);
    return {
      title: 'Where the first sync spends its time',
      head: ['', 'of the JavaScript thread at work'],
      rows: spots.map(({ place, share }) => [
        place.startsWith('(') ? place : `\`${place}\``,
        `${writeNumber(share * 100)} %`,
      ]),
      notes: [
        `A run of its own under \`--cpu-prof\`: ${writeNumber(measured.fetchSeconds)} s to the last page, ${writeNumber(measured.loadSeconds)} s to load. The engine works in threads of its own and is not in the profile.`,
      ],
    };
  } finally {
    pages.stop();
  }
}
