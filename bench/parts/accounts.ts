import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ServedAccounts,
  writeAccountsProject,
  writeSingleProjects,
} from '../support/account-projects.ts';
import { type PageServer, serve } from '../support/children.ts';
import { type ProcessFacts, runWell } from '../support/cli-process.ts';
import { type Finding, type PartOptions, writeCount, writeGoal, writeNumber } from '../support/finding.ts';

const ROWS = 500;
const PROCESSES = 4;
const PER_SECOND = 10;

/** What a way to sync all accounts took. */
interface Taken {
  readonly name: string;
  /** Accounts at work at once. */
  readonly atOnce: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Most memory in RAM of all its processes together. */
  readonly peakMb: number;
  readonly requests: number;
  readonly rateLimited: number;
}

/** What the server counted. */
type Counted = Pick<Taken, 'requests' | 'rateLimited'>;

/** Many accounts, each with a key and limits of its own: in a process each, and in one process. */
export async function measureAccounts(options: PartOptions): Promise<readonly Finding[]> {
  const count = options.size ?? 40;
  const { build, say } = options;
  const server = await serve(build.script('serve-accounts'), [String(count), String(ROWS)]);
  const served = { origin: server.origin, count };
  try {
    say(`accounts: ${count} of them, in a process each`);
    const apart = await syncApart(options, server, served);
    const together: Taken[] = [];
    for (const atOnce of [4, 8]) {
      say(`accounts: in one process, ${atOnce} at once`);
      together.push(...(await syncTogether(options, server, { ...served, atOnce })));
    }
    return [tabulate([apart, ...together], count)];
  } finally {
    server.stop();
  }
}

async function syncApart(options: PartOptions, server: PageServer, served: ServedAccounts): Promise<Taken> {
  const folder = join(options.folder, 'apart');
  const waiting = [...writeSingleProjects(folder, served)];
  const ended: ProcessFacts[] = [];
  const work = async () => {
    for (let cwd = waiting.shift(); cwd !== undefined; cwd = waiting.shift())
      ended.push(await runSync(options, cwd));
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: PROCESSES }, work));
  const seconds = (performance.now() - startedAt) / 1_000;
  rmSync(folder, { recursive: true });
  const peaks = ended.map(({ peakMb = NaN }) => peakMb).toSorted((a, b) => b - a);
  return {
    name: `a process each, ${PROCESSES} at once`,
    atOnce: PROCESSES,
    seconds,
    cpuSeconds: sum(ended.map((facts) => facts.cpuSeconds ?? NaN)),
    peakMb: sum(peaks.slice(0, PROCESSES)),
    ...(await server.tell<Counted>({})),
  };
}

async function syncTogether(
  options: PartOptions,
  server: PageServer,
  { atOnce, ...served }: ServedAccounts & { readonly atOnce: number },
): Promise<readonly Taken[]> {
  const folder = join(options.folder, `together-${atOnce}`);
  mkdirSync(folder);
  writeAccountsProject(folder, served, atOnce);
  const sync = async (name: string, args: readonly string[]): Promise<Taken> => {
    const { seconds, cpuSeconds = NaN, peakMb = NaN } = await runSync(options, folder, args);
    return { name, atOnce, seconds, cpuSeconds, peakMb, ...(await server.tell<Counted>({})) };
  };
  const first = await sync(`one process, ${atOnce} at once`, []);
  const again = await sync(`one process, ${atOnce} at once, nothing new`, ['--force']);
  rmSync(folder, { recursive: true });
  return [first, again];
}

function runSync({ build }: PartOptions, cwd: string, args: readonly string[] = []): Promise<ProcessFacts> {
  return runWell([build.cli, 'sync', '--no-progress', '--log-level', 'warn', ...args], { cwd });
}

/** The least seconds: each account's requests at its key's limit, and its place is taken when they are sent. */
function leastSeconds({ requests, atOnce }: Taken, count: number): number {
  return Math.ceil(count / atOnce) * Math.max(0, Math.ceil(requests / count / PER_SECOND) - 1);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function tabulate(taken: readonly Taken[], count: number): Finding {
  const first = taken.filter(({ name }) => name.startsWith('one process') && !name.endsWith('nothing new'));
  const worst = (of: (one: Taken) => number) => Math.max(...first.map(of));
  const perAccount = worst(({ cpuSeconds }) => cpuSeconds / count);
  const peak = worst(({ peakMb }) => peakMb);
  const over = first.map((one) => ({ one, over: one.seconds / leastSeconds(one, count) - 1 }));
  const refused = sum(taken.map(({ rateLimited }) => rateLimited));
  return {
    title: `${writeCount(count)} accounts of four streams, ${writeCount(ROWS)} rows each`,
    head: ['', 's', 'least s', 'CPU s', 'CPU s an account', 'peak MB', 'requests', '429s'],
    rows: taken.map((one) => [
      one.name,
      writeNumber(one.seconds),
      writeCount(leastSeconds(one, count)),
      writeNumber(one.cpuSeconds),
      writeNumber(one.cpuSeconds / count),
      writeCount(one.peakMb),
      writeCount(one.requests),
      writeCount(one.rateLimited),
    ]),
    notes: [
      writeGoal('at most 0.8 CPU s an account in one process', perAccount <= 0.8, writeNumber(perAccount)),
      writeGoal('less than 500 MB in one process', peak < 500, `${writeCount(peak)} MB`),
      ...over
        .filter(({ over: value }) => Number.isFinite(value))
        .map(({ one, over: value }) =>
          writeGoal(
            `${one.name}: within 15 % of the time that the keys' limits allow`,
            value <= 0.15,
            `+${writeNumber(value * 100)} %`,
          ),
        ),
      writeGoal('no 429', refused === 0, writeCount(refused)),
      `Each key has ${PER_SECOND} requests a second and 600 an hour of its own. Least seconds: each account sends its requests at that pace, and the next one takes its place when the last is sent; the work on this machine takes no time. The memory of processes is the sum of the ${PROCESSES} largest.`,
    ],
  };
}
