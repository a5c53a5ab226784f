import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createFlow, DAY_MS, type Flow } from '../../test/support/sync-harness.ts';
import {
  type Finding,
  median,
  type PartOptions,
  writeCount,
  writeGoal,
  writeNumber,
} from '../support/finding.ts';

/** Archived pages are kept for so many days: from then on, as much goes as comes. */
const ARCHIVE_DAYS = 30;
const SPAN = 10;
/** What varies between two syncs of the same work on a busy machine. */
const MOST_GROWTH = 1.2;

/** What a sync took, and what the state folder held after it. */
interface Day {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly requests: number;
  readonly files: number;
  readonly bytes: number;
}

/** A year of daily syncs of the four built-in streams: what their state holds, and what the first and last ones take. */
export async function measureYear({ size = 365, folder, say }: PartOptions): Promise<readonly Finding[]> {
  const flow = createFlow({
    folder,
    simulator: { history: 'slides' },
    // What the API has forgotten is found by a full scan, once a month.
    config: { defaults: { deletes: 'hard', maxDeleteRatio: 1 } },
  });
  const days: Day[] = [];
  for (let day = 0; day < size; day += 1) {
    if (day % 30 === 0) say(`year: day ${day} of ${size}`);
    days.push(await syncDay(flow));
    flow.simulator.advanceDay();
    await flow.clock.sleep(DAY_MS);
  }
  const isLong = days.length > ARCHIVE_DAYS + 2 * SPAN;
  const from = isLong ? ARCHIVE_DAYS + 1 : 1;
  const span = isLong ? SPAN : Math.ceil((days.length - 1) / 2);
  const early = days.slice(from, from + span);
  const late = days.slice(-span);
  const grow = (of: (day: Day) => number) => median(late.map(of)) / median(early.map(of));
  const growth = {
    cpu: grow(({ cpuSeconds }) => cpuSeconds),
    files: grow(({ files }) => files),
    bytes: grow(({ bytes }) => bytes),
  };
  const most = (of: (day: Day) => number) => Math.max(...days.map(of));
  return [
    {
      title: `${writeCount(size)} daily syncs of four streams`,
      head: ['', 's', 'CPU s', 'requests', 'files of the state', 'MB of the state'],
      rows: [
        describe('the first', days.slice(0, 1)),
        describe(`days ${from + 1} to ${from + span}`, early),
        describe(`the last ${span}`, late),
        [
          'the most',
          writeNumber(most(({ seconds }) => seconds)),
          writeNumber(most(({ cpuSeconds }) => cpuSeconds)),
          writeCount(most(({ requests }) => requests)),
          writeCount(most(({ files }) => files)),
          writeNumber(most(({ bytes }) => bytes) / 1e6),
        ],
      ],
      ratios: { 'an early sync, in CPU times of a late one': 1 / growth.cpu },
      notes: [
        writeGoal(
          'CPU time, files and bytes of a late sync are within a fifth of those of an early one',
          Math.max(...Object.values(growth)) < MOST_GROWTH,
          `${writeNumber(growth.cpu)} times the CPU time, ${writeNumber(growth.files)} times the files, ${writeNumber(growth.bytes)} times the bytes`,
        ),
        `Each day brings 30 mentions, and rows of the other streams come and go; archived pages leave after ${ARCHIVE_DAYS} days (\`retention.archive\`). The clock and the API are in the process, so waits take no time, and making pages is in the numbers. Medians.`,
      ],
    },
  ];
}

async function syncDay(flow: Flow): Promise<Day> {
  const beganMs = performance.now();
  const cpu = process.cpuUsage();
  const { exitCode, error, requests, streams } = await flow.sync();
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - beganMs) / 1_000;
  if (exitCode !== 0) {
    const failed = streams.find((stream) => stream.error !== undefined)?.error;
    throw new Error(`a sync ended with ${exitCode}: ${(error ?? failed)?.message ?? 'for no known reason'}`);
  }
  return { seconds, cpuSeconds: (user + system) / 1e6, requests, ...look(flow.stateDir) };
}

function look(stateDir: string): Pick<Day, 'files' | 'bytes'> {
  const files = readdirSync(stateDir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const sizes = files.map(({ parentPath, name }) => statSync(join(parentPath, name)).size);
  return { files: files.length, bytes: sizes.reduce((sum, one) => sum + one, 0) };
}

function describe(name: string, days: readonly Day[]): readonly string[] {
  const middle = (of: (day: Day) => number) => median(days.map(of));
  return [
    name,
    writeNumber(middle(({ seconds }) => seconds)),
    writeNumber(middle(({ cpuSeconds }) => cpuSeconds)),
    writeCount(middle(({ requests }) => requests)),
    writeCount(middle(({ files }) => files)),
    writeNumber(middle(({ bytes }) => bytes) / 1e6),
  ];
}
