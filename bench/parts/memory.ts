import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from '../support/children.ts';
import { type ProcessFacts, runNode, writeProject } from '../support/cli-process.ts';
import { type Finding, type PartOptions, writeCount, writeGoal, writeNumber } from '../support/finding.ts';
import { limitMemory, type MemoryLimit } from '../support/memory-limit.ts';

const LIMIT_MB = 512;

interface Case {
  readonly rows: number;
  readonly pageSize: number;
  readonly limit: MemoryLimit | undefined;
}

interface Result extends Case {
  readonly facts: ProcessFacts;
}

/** The most memory that a first sync has in RAM, by volume; and one inside a limit. */
export async function measureMemory(options: PartOptions): Promise<readonly Finding[]> {
  const largest = options.size ?? 5_000_000;
  const volumes = [...new Set([Math.ceil(largest / 50), Math.ceil(largest / 5), largest])];
  const limit = await limitMemory(LIMIT_MB);
  const cases: readonly Case[] = [
    ...[100, 1_000].flatMap((pageSize) => volumes.map((rows) => ({ rows, pageSize, limit: undefined }))),
    ...(limit === undefined ? [] : [{ rows: largest, pageSize: 100, limit }]),
  ];
  const results: Result[] = [];
  for (const one of cases) {
    options.say(`memory: ${describe(one)}`);
    const facts = await syncOnce(options, one);
    options.say(`  peak ${facts.peakMb === undefined ? 'not known' : `${writeCount(facts.peakMb)} MB`}`);
    results.push({ ...one, facts });
  }
  limit?.release();
  return [tabulate(results, limit)];
}

function describe({ rows, pageSize, limit }: Case): string {
  const inside = limit === undefined ? '' : `, inside ${LIMIT_MB} MB`;
  return `${writeCount(rows)} rows, pages of ${writeCount(pageSize)}${inside}`;
}

async function syncOnce(options: PartOptions, one: Case): Promise<ProcessFacts> {
  const folder = join(options.folder, 'memory');
  mkdirSync(folder);
  const pages = await serve(options.build.script('serve-pages'), [String(one.rows)]);
  try {
    return await runNode(chooseProgram(options, one, folder, pages.origin), {
      cwd: folder,
      ...(one.limit === undefined ? {} : { within: one.limit.within }),
    });
  } finally {
    pages.stop();
    rmSync(folder, { recursive: true });
  }
}

// The API's documented limit is 100, and config takes no more; the pipeline does.
function chooseProgram(
  { build }: PartOptions,
  { pageSize }: Case,
  folder: string,
  origin: string,
): readonly string[] {
  if (pageSize > 100) return [build.script('sync-once'), origin, folder, String(pageSize)];
  writeProject(folder, origin);
  return [build.cli, 'sync', '--json', '--no-progress'];
}

function tabulate(results: readonly Result[], limit: MemoryLimit | undefined): Finding {
  return {
    title: 'Peak memory of a first sync',
    head: ['', 'peak MB', 'process, s', 'ended'],
    rows: results.map(({ facts, ...one }) => [
      describe(one),
      facts.peakMb === undefined ? 'killed' : writeCount(facts.peakMb),
      writeNumber(facts.seconds),
      facts.exitCode === 0 ? 'complete' : `exit ${String(facts.exitCode ?? facts.signal)}`,
    ]),
    notes: [
      ...judge(results),
      'VmHWM of the process at its end: all of its memory in RAM, with the code of Node and of the engine. Publishing is in it.',
      'Pages of 100: the built command line. The documented limit of the API is 100 and config takes no more: pages of 1,000 are read by a script that calls the same pipeline.',
      limit === undefined
        ? `A limit of ${LIMIT_MB} MB: not available here.`
        : `Inside ${LIMIT_MB} MB: ${limit.name}.`,
    ],
  };
}

function judge(results: readonly Result[]): readonly string[] {
  const largest = Math.max(...results.map(({ rows }) => rows));
  const goals = [100, 1_000].flatMap((pageSize) => {
    const peakOf = (rows: number) =>
      results.find((one) => one.rows === rows && one.pageSize === pageSize && one.limit === undefined)?.facts
        .peakMb ?? NaN;
    const [most, less] = [peakOf(largest), peakOf(Math.ceil(largest / 5))];
    const what = `pages of ${writeCount(pageSize)}, ${writeCount(largest)} rows`;
    const growth = `${writeNumber((most / less - 1) * 100)} % more`;
    return [
      writeGoal(`${what}: within 10 % of the peak of a fifth of them`, most <= less * 1.1, growth),
      writeGoal(`${what}: below 400 MB`, most < 400, `${writeCount(most)} MB`),
    ];
  });
  const inside = results.find((one) => one.limit !== undefined);
  if (inside === undefined) return goals;
  const { exitCode } = inside.facts;
  return [...goals, writeGoal(describe(inside), exitCode === 0, `exit code ${String(exitCode)}`)];
}
