import { execFile } from 'node:child_process';
import { globSync, lstatSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseCron } from '../../src/schedule/cron-schedule.ts';
import { makeDocsWorld, type DocsWorld } from './kit/docs-world.ts';
import { listBlocks, listMarkdown, root } from './markdown.ts';

/** Pages whose commands are one way from an empty folder; elsewhere a block supposes a project that was synced. */
const stories = ['README.md', 'docs/quickstart.md'];
const blocks = listMarkdown().flatMap((file) => listBlocks(file));

let world: DocsWorld;
beforeAll(async () => (world = await makeDocsWorld()));
afterAll(() => world.close());

it('every block is run by a test', () => {
  // Configs, contracts, programs and alerts have tests of their own; Python is run by `npm run test:interop`.
  const elsewhere = ['yaml', 'json', 'ts', 'prometheus', 'python'];
  const here = ['sh', 'crontab', 'sql', 'console', 'text'];
  const found = [...new Set(blocks.map(({ language }) => language))];
  expect(found.toSorted()).toEqual([...elsewhere, ...here].toSorted());
  // These are compared with what there is by name, below.
  expect(listCases('text').map(([place]) => place.replace(/:\d+$/, ''))).toEqual([
    'README.md',
    'docs/architecture.md',
    'docs/lake.md',
  ]);
  expect(listCases('console')).toHaveLength(1);
});

describe('what the docs show', () => {
  it('of the demo is what it writes', async () => {
    const [shown] = listBlocks('README.md', 'text');
    const { stdout } = await world.run(['demo', '--dir', path.join(world.folder, 'shown')]);
    const written = stdout.split('\n');
    const lines = shown?.text.replace(/127\.0\.0\.1:\d+/, '').split('\n') ?? [];
    expect(lines.length).toBeGreaterThan(10);
    // The NOTE of a first sync is too wide for the page.
    expect(
      lines.filter((line) => !written.some((text) => text.replace(/127\.0\.0\.1:\d+/, '').startsWith(line))),
    ).toEqual([]);
  });

  it('of a command is what it writes', async () => {
    const [block] = listBlocks('docs/contracts.md', 'console');
    const [command = '', ...lines] = block?.text.trimEnd().split('\n') ?? [];
    expect(command).toBe('$ sluice quarantine list');
    const { stdout } = await world.run(['quarantine', 'list']);
    const toShape = (line: string) =>
      line
        .replace(/\d/g, '0')
        .replace(/^[0a-f]{10} /, 'id ')
        .replace(/ +/g, ' ');
    const written = stdout.split('\n').map(toShape);
    expect(lines.filter((line) => line !== '…' && !written.includes(toShape(line)))).toEqual([]);
  });

  it('of a lake is in it', () => {
    const [tree] = listBlocks('docs/lake.md', 'text');
    const entries = [...(tree?.text.matchAll(/^ {2}(\S+)/gm) ?? [])].map(([, name = '']) => name);
    expect(entries).toContain('lake.duckdb');
    const lake = path.join(world.project, 'lake');
    for (const name of entries) expect(() => lstatSync(path.join(lake, name))).not.toThrow();
    const [, link = '', target = ''] = /(current) -> (\S+\/)\S+Z-/.exec(tree?.text ?? '') ?? [];
    const [found = ''] = globSync(path.join(lake, 'prompts_analytics', link, '*/*.parquet'));
    expect(found).toMatch(/date=2026-01-\d\d\/[\w-]+\.parquet$/);
    expect(target).toBe('../_generations/prompts_analytics/');
  });

  it('of the flow names files of the sources', () => {
    const [flow] = listBlocks('docs/architecture.md', 'text');
    const names = [...(flow?.text.matchAll(/^ {3}\S+ +│ {2}([a-z-]+) /gm) ?? [])].map(
      ([, name = '']) => name,
    );
    expect(names.length).toBeGreaterThan(4);
    expect(names.filter((name) => globSync(`src/**/${name}.ts`, { cwd: root }).length === 0)).toEqual([]);
  });
});

// They are written for a POSIX shell. Blocks above leave the world as it was; these need not.
describe.skipIf(process.platform === 'win32')('shell commands', () => {
  it.each(stories)('run, those of %s one after the other', async (file) => {
    const script = listBlocks(file, 'sh').map(({ text }) => text);
    const empty = mkdtempSync(path.join(world.folder, 'page-'));
    const { exitCode, output } = await runShell(script.join(''), empty);
    expect(exitCode, output).toBe(0);
  });

  it.each(listCases('sh').filter(([, { file }]) => !stories.includes(file)))(
    'run, those of %s',
    async (_, { text }) => {
      const { exitCode, output } = await runShell(text, world.project);
      expect(exitCode, output).toBe(0);
    },
  );

  it.each(listCases('crontab'))('run, those of %s, and at a time', async (_, { text }) => {
    const [, cron = '', command = ''] = /^((?:\S+ ){5})(.*)$/.exec(text.trim()) ?? [];
    expect(() => parseCron(cron.trim(), undefined, 0)).not.toThrow();
    const { exitCode, output } = await runShell(command, world.project);
    expect(exitCode, output).toBe(0);
  });
});

describe('SQL', () => {
  it.each(listCases('sql'))('of %s runs', async (_, { text }) => {
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
    const connection = await instance.connect();
    const file = path.join(world.project, 'warehouse.duckdb');
    if (!text.includes('ATTACH'))
      await connection.run(`ATTACH '${file}' AS warehouse (READ_ONLY); USE warehouse`);
    const local = text
      .replace(`'warehouse.duckdb'`, `'${file}'`)
      .replace(`'lake/`, `'${world.project}/lake/`);
    const reader = await connection.runAndReadAll(local);
    expect(reader.columnCount).toBeGreaterThan(0);
    connection.closeSync();
    instance.closeSync();
  });
});

function listCases(language: string) {
  return blocks
    .filter((block) => block.language === language)
    .map((block) => [`${block.file}:${block.line}`, block] as const);
}

interface Outcome {
  readonly exitCode: number;
  readonly output: string;
}

function runShell(script: string, cwd: string): Promise<Outcome> {
  const args = ['--norc', '-euxo', 'pipefail', '-c', world.settle(script)];
  return new Promise((resolve) => {
    const child = execFile('bash', args, { cwd, env: world.env }, (error, stdout, stderr) =>
      resolve({ exitCode: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` }),
    );
    // Nobody answers questions.
    child.stdin?.end();
  });
}
