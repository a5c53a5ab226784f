import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseCron } from '../../src/schedule/cron-schedule.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { makeDocsWorld, type DocsWorld } from './kit/docs-world.ts';
import { type FleetWorld, makeFleetWorld } from './kit/fleet-world.ts';
import { readScript } from './kit/read-script.ts';
import { runScript } from './kit/run-in-process.ts';
import { type Block, listBlocks, listMarkdown } from './markdown.ts';

/** Pages whose commands are one way from an empty folder; elsewhere a block supposes a project that was synced. */
const stories = ['README.md', 'docs/quickstart.md'];
/** Its commands suppose a project with accounts. */
const ofAccounts = 'docs/accounts.md';
/** Its commands suppose a fleet, with a database. */
const ofFleet = 'docs/fleet.md';
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
  // Compared with what there is by `shown.test.ts`.
  expect(listCases('text').map(([place]) => place.replace(/:\d+$/, ''))).toEqual([
    'docs/architecture.md',
    'docs/lake.md',
  ]);
  expect(listCases('console')).toHaveLength(1);
});

// They are written for a POSIX shell. Blocks above leave the world as it was; these need not.
describe.skipIf(process.platform === 'win32')('shell commands', () => {
  it.each(stories)('run, those of %s one after the other', async (file) => {
    const script = listBlocks(file, 'sh').map(({ text }) => text);
    const empty = mkdtempSync(path.join(world.folder, 'page-'));
    const { exitCode, output } = await runBlock(script.join(''), empty);
    expect(exitCode, output).toBe(0);
  });

  it.each(listCases('sh').filter(([, block]) => !stories.includes(block.file) && !isOfFleet(block)))(
    'run, those of %s',
    async (_, { file, text }) => {
      const isOfAccounts = file === ofAccounts || /\bsluice accounts\b|--accounts\b/.test(text);
      const { exitCode, output } = await runBlock(text, isOfAccounts ? world.accounts : world.project);
      expect(exitCode, output).toBe(0);
    },
  );

  it.each(listCases('crontab'))('run, those of %s, and at a time', async (_, { text }) => {
    const [, cron = '', command = ''] = /^((?:\S+ ){5})(.*)$/.exec(text.trim()) ?? [];
    expect(() => parseCron(cron.trim(), undefined, 0)).not.toThrow();
    const { exitCode, output } = await runBlock(command, world.project);
    expect(exitCode, output).toBe(0);
  });
});

describeWithServers('a fleet', () => {
  let fleet: FleetWorld;
  beforeAll(async () => (fleet = await makeFleetWorld(path.join(world.folder, 'fleet'), world.env)), 120_000);
  afterAll(() => fleet.close());

  it.each(listCases('sql').filter(([, block]) => isOfFleet(block)))('runs the SQL of %s', (_, { text }) =>
    fleet.query(text),
  );

  it.each(listCases('sh').filter(([, block]) => isOfFleet(block)))(
    'runs commands, those of %s',
    async (_, { text }) => {
      const { exitCode, output } = await runBlock(text, fleet.project, fleet.env);
      expect(exitCode, output).toBe(0);
    },
    60_000,
  );

  it('lets the user of a worker do all that a worker does', async () => {
    const env = { ...fleet.env, FLEET_DATABASE_URL: fleet.urlOf('fleet_worker', 'change-me-too') };
    const before = await runBlock("sluice fleet run 'eu-*'\nsluice check", fleet.project, env);
    expect(before.exitCode, before.output).toBe(0);
    const log = await fleet.work(env, /eu-north: (complete|still fresh)/);
    const after = await runBlock('sluice fleet status\nsluice fleet repair acme', fleet.project, env);
    expect(after.exitCode, after.output).toBe(0);
    for (const text of [before.output, log, after.output])
      expect(text).not.toMatch(/permission denied|may not do this|FAILED/);
  }, 60_000);
});

describe('SQL', () => {
  it.each(listCases('sql').filter(([, block]) => !isOfFleet(block)))(
    'of %s runs',
    async (_, { file: page, text }) => {
      const place = page === ofAccounts || text.includes('account=*') ? world.accounts : world.project;
      const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
      const connection = await instance.connect();
      const file = path.join(world.project, 'warehouse.duckdb');
      if (!text.includes('ATTACH'))
        await connection.run(`ATTACH '${file}' AS warehouse (READ_ONLY); USE warehouse`);
      const local = text.replaceAll(/'(?=warehouse\.duckdb'|all\.duckdb'|lake\/)/g, `'${place}/`);
      const reader = await connection.runAndReadAll(local);
      expect(reader.columnCount).toBeGreaterThan(0);
      connection.closeSync();
      instance.closeSync();
    },
  );
});

/** Of `docs/fleet.md` this is all but what reads the rows of a lake. */
function isOfFleet({ file, language, text }: Block): boolean {
  if (language === 'sql') return file === ofFleet && !text.includes('read_parquet');
  return file === ofFleet || /\bsluice fleet\b|--fleet\b/.test(text);
}

function listCases(language: string) {
  return blocks
    .filter((block) => block.language === language)
    .map((block) => [`${block.file}:${block.line}`, block] as const);
}

interface Outcome {
  readonly exitCode: number;
  readonly output: string;
}

/** Runs a script in this process, or in a shell where that adds something. */
async function runBlock(script: string, cwd: string, env = world.env): Promise<Outcome> {
  const settled = world.settle(script);
  const lines = readScript(settled);
  return lines === undefined ? runShell(settled, cwd, env) : runScript(lines, { cwd, env });
}

function runShell(script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Outcome> {
  const args = ['--norc', '-euxo', 'pipefail', '-c', script];
  return new Promise((resolve) => {
    const child = execFile('bash', args, { cwd, env }, (error, stdout, stderr) =>
      resolve({ exitCode: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` }),
    );
    // Nobody answers questions.
    child.stdin?.end();
  });
}
