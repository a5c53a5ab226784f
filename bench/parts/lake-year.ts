import { join } from 'node:path';
import { openLakeReader } from '../../test/support/ducklake-reader.ts';
import { explainMissing, findExtensions } from '../../test/support/lake-servers.ts';
import { hookSteps } from '../../test/support/io-steps.ts';
import { createItemsFlow, DAY_MS, makeItem } from '../../test/support/sync-harness.ts';
import {
  type Finding,
  median,
  type PartOptions,
  writeCount,
  writeGoal,
  writeNumber,
} from '../support/finding.ts';

const ROWS_A_DAY = 20;
/** So many days are restated by each sync. */
const RESTATED = 3;
/** The size of the lake is looked at so often. */
const LOOK_EVERY = 5;

type Flow = ReturnType<typeof createItemsFlow>;

/** What a sync did to publish. */
interface Commit {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly statements: number;
}

/** What a lake consists of. */
interface Size {
  readonly snapshots: number;
  readonly files: number;
}

/** A year of daily syncs to a DuckLake, each with its maintenance: what the first and the last ones cost. */
export async function measureLakeYear({ size = 365, folder, say }: PartOptions): Promise<readonly Finding[]> {
  const title = `${writeCount(size)} daily syncs to a DuckLake`;
  const head = ['', 'publish, s', 'CPU s', 'statements', 'snapshots', 'files'];
  const missing = explainMissing();
  if (missing !== undefined)
    return [{ title, head, rows: [['not measured', '', '', '', '', '']], notes: [missing] }];
  const flow = createFlow(folder);
  const commits: Commit[] = [];
  const sizes: Size[] = [];
  for (let day = 0; day < size; day += 1) {
    if (day % 30 === 0) say(`lake-year: day ${day} of ${size}`);
    commits.push(await syncDay(flow, day));
    if (day % LOOK_EVERY === 0 || day === size - 1) sizes.push(await look(flow));
    await flow.clock.sleep(DAY_MS);
  }
  // The first one makes the tables.
  const daily = commits.slice(1);
  const span = Math.min(10, Math.ceil(daily.length / 2));
  const [early, late] = [daily.slice(0, span), daily.slice(-span)];
  const rows = [
    describe('the first', commits.slice(0, 1), sizes.slice(0, 1)),
    describe(`the next ${span}`, early, sizes.slice(1, 1 + Math.ceil(span / LOOK_EVERY))),
    describe(`the last ${span}`, late, sizes.slice(-Math.ceil(span / LOOK_EVERY))),
    describe('the most', [findMost(daily)], [findLargest(sizes)]),
  ];
  const ratio = (of: (commit: Commit) => number) => median(late.map(of)) / median(early.map(of));
  const growth = {
    time: ratio(({ seconds }) => seconds),
    cpu: ratio(({ cpuSeconds }) => cpuSeconds),
    statements: ratio(({ statements }) => statements),
  };
  return [
    {
      title,
      head,
      rows,
      notes: [
        writeGoal(
          'a late sync takes less than twice the time of an early one to publish',
          growth.time < 2,
          `${writeNumber(growth.time)} times the time, ${writeNumber(growth.cpu)} times the CPU time, ${writeNumber(growth.statements)} times the statements`,
        ),
        `Catalog in SQLite, data in a folder. Each day brings ${ROWS_A_DAY} rows, restates those of ${RESTATED} days and removes one; each sync is followed by its maintenance, which is in the numbers, and keeps no old snapshot (\`retention.lake: 0s\`). Medians; of snapshots and files the most.`,
      ],
    },
  ];
}

function createFlow(folder: string): Flow {
  return createItemsFlow([], {
    folder,
    stream: { key: ['id'], cursor: { field: 'date', lookback: `${RESTATED + 1}d` }, deletes: 'hard' },
    config: {
      destination: { ducklake: { catalog: 'sqlite:./catalog.sqlite', data: './data' } },
      engine: { extensionDirectory: findExtensions() ?? '' },
      retention: { lake: '0s' },
    },
  });
}

/** All days so far; those of the last days have other values than the day before. */
function makeRows(day: number): readonly object[] {
  return Array.from({ length: (day + 1) * ROWS_A_DAY }, (_, id) => makeItem(id, ROWS_A_DAY))
    .filter(({ id }) => id % ROWS_A_DAY !== 7 || id >= (day - 1) * ROWS_A_DAY)
    .map((item) => ({
      ...item,
      amount: item.amount + Math.max(0, Math.min(RESTATED, day - Math.floor(item.id / ROWS_A_DAY))),
    }));
}

async function syncDay(flow: Flow, day: number): Promise<Commit> {
  flow.simulator.editRecords('items', () => makeRows(day));
  let began = { atMs: 0, cpu: process.cpuUsage() };
  let statements = 0;
  let commit: Commit | undefined;
  const unhook = await hookSteps(
    { before: ({ name }) => void (statements += Number(name.startsWith('sql '))) },
    () => false,
  );
  try {
    const report = await flow.sync({
      force: true,
      onProgress: (event) => {
        // What readers of this machine use is published by the same run.
        if (!('path' in event) || !event.path.includes('catalog.sqlite')) return;
        const { type } = event;
        if (type === 'publishing') {
          began = { atMs: performance.now(), cpu: process.cpuUsage() };
          statements = 0;
        }
        if (type !== 'published') return;
        const { user, system } = process.cpuUsage(began.cpu);
        commit = {
          seconds: (performance.now() - began.atMs) / 1_000,
          cpuSeconds: (user + system) / 1e6,
          statements,
        };
      },
    });
    if (report.exitCode !== 0 || commit === undefined)
      throw new Error(
        `day ${day} ended with ${report.exitCode}: ${report.error?.message ?? 'nothing published'}`,
      );
    return commit;
  } finally {
    unhook();
  }
}

async function look({ folder }: Flow): Promise<Size> {
  const reader = await openLakeReader(`sqlite:${join(folder, 'catalog.sqlite')}`);
  const [row] = await reader
    .rows(
      `SELECT (SELECT count(*) FROM ducklake_snapshots('lake'))::INTEGER AS snapshots,
         (SELECT sum(file_count + delete_file_count) FROM ducklake_table_info('lake'))::INTEGER AS files`,
    )
    .finally(() => reader.close());
  return { snapshots: Number(row?.['snapshots']), files: Number(row?.['files']) };
}

function describe(name: string, commits: readonly Commit[], sizes: readonly Size[]): readonly string[] {
  const { snapshots, files } = findLargest(sizes);
  return [
    name,
    writeNumber(median(commits.map(({ seconds }) => seconds))),
    writeNumber(median(commits.map(({ cpuSeconds }) => cpuSeconds))),
    writeCount(median(commits.map(({ statements }) => statements))),
    writeCount(snapshots),
    writeCount(files),
  ];
}

function findMost(commits: readonly Commit[]): Commit {
  const most = (of: (commit: Commit) => number) => Math.max(...commits.map(of));
  return {
    seconds: most(({ seconds }) => seconds),
    cpuSeconds: most(({ cpuSeconds }) => cpuSeconds),
    statements: most(({ statements }) => statements),
  };
}

function findLargest(sizes: readonly Size[]): Size {
  return {
    snapshots: Math.max(...sizes.map(({ snapshots }) => snapshots)),
    files: Math.max(...sizes.map(({ files }) => files)),
  };
}
