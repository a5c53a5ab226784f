import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { serve } from '../support/children.ts';
import { runNode, runWell, timeNode, writeProject } from '../support/cli-process.ts';
import {
  type Finding,
  median,
  type PartOptions,
  writeCount,
  writeGoal,
  writeNumber,
} from '../support/finding.ts';

const root = resolve(import.meta.dirname, '../..');
const ROWS = 1_000;

interface Start {
  readonly name: string;
  readonly args: readonly string[];
}

/** Seconds. */
interface Times {
  readonly best: number;
  readonly median: number;
}

/** How long a process takes from its start to its end when there is little to do, and what it loads. */
export async function measureStart(options: PartOptions): Promise<readonly Finding[]> {
  const { cli } = options.build;
  const folder = join(options.folder, 'start');
  mkdirSync(folder);
  const pages = await serve(options.build.script('serve-pages'), [String(ROWS)]);
  try {
    // Fresh for a day: the syncs after the first have nothing to do.
    writeProject(folder, pages.origin, { freshness: '1d' });
    await runWell([cli, 'sync'], { cwd: folder });
    const starts = listStarts(cli);
    const times = await timeAll(starts, folder, options.repeats ?? 25, options.say);
    const bare = times.get('Node and yargs')?.best ?? NaN;
    const rows: (readonly string[])[] = [];
    for (const { name, args } of starts) {
      const { modules } = await runNode(args, { cwd: folder, traceModules: true });
      const { best = NaN, median: middle = NaN } = times.get(name) ?? {};
      const { files, packages } = describeModules(modules);
      rows.push([
        name,
        writeCount(middle * 1_000),
        writeCount(best * 1_000),
        writeNumber(best / bare),
        writeCount(files),
        packages,
      ]);
    }
    return [tabulate(rows, times, options.repeats ?? 25)];
  } finally {
    pages.stop();
  }
}

function listStarts(cli: string): readonly Start[] {
  const yargs = pathToFileURL(join(root, 'node_modules/yargs/index.mjs')).href;
  const parse = `import('${yargs}').then(({ default: yargs }) => yargs(['--help']).scriptName('x').option('a', {}).parse())`;
  return [
    { name: '`node -e 0`', args: ['-e', '0'] },
    { name: 'Node and yargs', args: ['-e', parse] },
    { name: '`sluice --help`', args: [cli, '--help'] },
    { name: '`sluice status`', args: [cli, 'status'] },
    { name: '`sluice sync`, nothing to do', args: [cli, 'sync'] },
  ];
}

/** Times by name; all take turns, so that whatever else the machine did touches all. */
async function timeAll(
  starts: readonly Start[],
  folder: string,
  repeats: number,
  say: (line: string) => void,
): Promise<ReadonlyMap<string, Times>> {
  say(`start: ${repeats} times each`);
  const times = new Map<string, number[]>(starts.map(({ name }) => [name, []]));
  for (let at = 0; at < repeats; at += 1) {
    for (const { name, args } of starts) times.get(name)?.push(await timeNode(args, folder));
  }
  return new Map([...times].map(([name, all]) => [name, { best: Math.min(...all), median: median(all) }]));
}

function describeModules(modules: readonly string[]): { readonly files: number; readonly packages: string } {
  const packages = new Map<string, number>();
  let own = 0;
  for (const url of modules) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(url)?.[1];
    if (url === 'node:sqlite') packages.set('node:sqlite', 1);
    else if (url.startsWith('file:') && name === undefined) own += 1;
    else if (name !== undefined) packages.set(name, (packages.get(name) ?? 0) + 1);
  }
  return { files: own, packages: [...packages.keys()].toSorted().join(', ') || 'none' };
}

function tabulate(
  rows: readonly (readonly string[])[],
  times: ReadonlyMap<string, Times>,
  repeats: number,
): Finding {
  const help = (times.get('`sluice --help`')?.best ?? NaN) / (times.get('Node and yargs')?.best ?? NaN);
  const sync = times.get('`sluice sync`, nothing to do');
  return {
    title: 'Start to end of a process',
    head: ['', 'median ms', 'best ms', 'times Node and yargs', 'own files', 'packages loaded'],
    rows,
    ratios: {
      'Node and yargs, in times of --help': 1 / help,
      'Node and yargs, in times of a sync with nothing to do':
        (times.get('Node and yargs')?.best ?? NaN) / (sync?.best ?? NaN),
    },
    notes: [
      writeGoal('`--help` under 1.3 times Node and yargs', help < 1.3, `${writeNumber(help)} times`),
      writeGoal(
        'a sync with nothing to do under 300 ms',
        (sync?.best ?? NaN) < 0.3,
        `${writeCount((sync?.best ?? NaN) * 1_000)} ms, median ${writeCount((sync?.median ?? NaN) * 1_000)} ms`,
      ),
      `The built command line; medians and bests of ${repeats}, taken in turn; the best, which whatever else the machine did disturbed least, is what is compared. What is loaded comes from a run of its own, through module hooks.`,
    ],
  };
}
