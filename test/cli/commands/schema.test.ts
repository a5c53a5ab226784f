import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { SchemaDiff, SchemaExport, StreamSchema } from '../../../src/model/schema-report.ts';
import { run } from '../support/capture.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-schema-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const shown: StreamSchema = {
  stream: 'prompts',
  modes: { columns: 'freeze', types: 'evolve' },
  file: 'contracts/prompts.schema.json',
  description: 'What people ask.',
  columns: [
    {
      name: 'topic_id',
      type: 'VARCHAR',
      field: 'topicId',
      companionOf: undefined,
      since: 'run-1',
      absentSince: undefined,
      rule: undefined,
      description: undefined,
      unit: undefined,
    },
    {
      name: 'score',
      type: 'BIGINT',
      field: 'score',
      companionOf: undefined,
      since: 'run-1',
      absentSince: 'run-9',
      rule: 'BIGINT',
      description: 'How visible it is',
      unit: 'percent',
    },
    {
      name: 'score__text',
      type: 'VARCHAR',
      field: 'score',
      companionOf: 'score',
      since: 'run-2',
      absentSince: undefined,
      rule: undefined,
      description: undefined,
      unit: undefined,
    },
    {
      name: 'note',
      type: 'NULL',
      field: 'note',
      companionOf: undefined,
      since: undefined,
      absentSince: undefined,
      rule: undefined,
      description: undefined,
      unit: undefined,
    },
  ],
};

describe('schema show', () => {
  it('shows columns with their type, field and age', async () => {
    const { exitCode, stdout } = await run(['schema', 'show', 'prompts'], {
      engine: { showSchema: () => Promise.resolve([shown]) },
    });
    expect(exitCode).toBe(0);
    expect(stdout).toContain(
      'prompts: contract columns freeze, types evolve, contracts/prompts.schema.json\nWhat people ask.\n',
    );
    expect(stdout).toMatch(/topic_id +VARCHAR +topicId +run-1 *\n/);
    expect(stdout).toMatch(
      /score +BIGINT +score +run-1 +type from config, no record has it since run-9 +How visible it is \(percent\)/,
    );
    expect(stdout).toMatch(/score__text +VARCHAR +score +run-2 +what score cannot hold/);
    expect(stdout).toMatch(/note +- +note +- +only nulls so far/);
  });

  it('says what to do where nothing was learned', async () => {
    const { stdout } = await run(['schema', 'show'], {
      engine: { showSchema: () => Promise.resolve([{ ...shown, columns: [] }]) },
    });
    expect(stdout).toContain('Nothing has been learned yet; run: sluice sync --streams prompts');
  });
});

describe('schema diff', () => {
  const diff: SchemaDiff = {
    streams: [
      {
        stream: 'prompts',
        file: 'contracts/prompts.schema.json',
        differences: [
          { field: 'a', kind: 'type', fileType: 'integer', learnedType: 'VARCHAR' },
          { field: 'b', kind: 'not-in-file', fileType: undefined, learnedType: 'DATE' },
          { field: 'c', kind: 'not-learned', fileType: undefined, learnedType: undefined },
        ],
      },
      { stream: 'other', file: 'contracts/other.schema.json', differences: [] },
    ],
    changes: [],
    differs: true,
  };
  const compare = (answer: SchemaDiff, argv: readonly string[] = []) =>
    run(['schema', 'diff', ...argv], { engine: { diffSchema: () => Promise.resolve(answer) } });

  it('shows what differs, and is not a failure unless that is asked for', async () => {
    const { exitCode, stdout } = await compare(diff);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/a +integer +VARCHAR\nb +no +DATE\nc +any type +no\n/);
    expect(stdout).toContain('other (contracts/other.schema.json): the file matches what was learned');
    expect((await compare(diff, ['--strict'])).exitCode).toBe(4);
    const { stdout: json } = await compare(diff, ['--strict', '--json']);
    expect(JSON.parse(json)).toMatchObject({
      ok: false,
      error: { code: 'strict_breach', message: '3 differences between contract files and what was learned' },
    });
    expect((await compare({ ...diff, streams: [], differs: false }, ['--strict'])).exitCode).toBe(0);
  });

  it('reports changes since a run', async () => {
    const change = {
      runId: 'run-3',
      stream: 'prompts',
      column: 'email',
      change: 'removed',
      fromType: 'VARCHAR',
      toType: undefined,
      changedAt: '2026-11-20T12:00:00.000Z',
    };
    const { stdout } = await compare({ streams: [], changes: [change], differs: true }, ['--since', 'run-2']);
    expect(stdout).toMatch(/prompts +email +removed +VARCHAR +- +run-3 +2026-11-20 12:00:00 UTC/);
    const none = await compare({ streams: [], changes: [], differs: false }, ['--since', 'run-2']);
    expect(none.stdout).toBe('No column has changed since run run-2.\n');
  });
});

describe('schema export', () => {
  const exported: SchemaExport = {
    format: 'json-schema',
    streams: ['a', 'b'],
    files: [
      { stream: 'a', text: '{"title":"a"}\n' },
      { stream: 'b', text: '{"title":"b"}\n' },
    ],
  };
  const write = (argv: readonly string[], answer = exported) =>
    run(['schema', 'export', ...argv], {
      engine: { exportSchema: () => Promise.resolve(answer) },
      cwd: folder,
    });

  it('prints one schema as it is, several as one object', async () => {
    const one = { ...exported, streams: ['a'], files: exported.files.slice(0, 1) };
    expect((await write(['a'], one)).stdout).toBe('{"title":"a"}\n');
    expect(JSON.parse((await write([])).stdout)).toEqual({ a: { title: 'a' }, b: { title: 'b' } });
  });

  it('prints to stdout what --output - asks for', async () => {
    const one = { ...exported, streams: ['a'], files: exported.files.slice(0, 1) };
    expect((await write(['a', '--output', '-'], one)).stdout).toBe('{"title":"a"}\n');
  });

  it('escapes what a terminal would act on', async () => {
    const odd = {
      ...exported,
      streams: ['a'],
      files: [{ stream: 'a', text: '{"title":"\u009b1m\u202e"}\n' }],
    };
    expect((await write(['a'], odd)).stdout).toBe('{"title":"\\u009b1m\\u202e"}\n');
  });

  it('writes a folder of contracts, and never over one that is there', async () => {
    const { exitCode, stdout } = await write(['--output', 'contracts/']);
    expect(exitCode).toBe(0);
    expect(stdout).toBe('Wrote contracts/a.schema.json\nWrote contracts/b.schema.json\n');
    writeFileSync(join(folder, 'contracts', 'b.schema.json'), 'edited');
    rmSync(join(folder, 'contracts', 'a.schema.json'));
    const again = await write(['--output', 'contracts']);
    expect(again).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/b\.schema\.json already exists[\s\S]+--force/) as string,
    });
    expect(readFileSync(join(folder, 'contracts', 'b.schema.json'), 'utf8')).toBe('edited');
    expect((await write(['--output', 'contracts', '--force'])).exitCode).toBe(0);
    expect(readFileSync(join(folder, 'contracts', 'b.schema.json'), 'utf8')).toBe('{"title":"b"}\n');
  });

  it('refuses several schemas in one file, and one text in a folder', async () => {
    await expect(write(['--output', 'all.json'])).resolves.toMatchObject({ exitCode: 2 });
    const sql = { format: 'sql' as const, streams: ['a'], files: [{ stream: undefined, text: 'CREATE' }] };
    await expect(write(['--format', 'sql', '--output', './'], sql)).resolves.toMatchObject({ exitCode: 2 });
    expect((await write(['--format', 'sql', '--output', 'new/schema.sql'], sql)).exitCode).toBe(0);
    expect(readFileSync(join(folder, 'new', 'schema.sql'), 'utf8')).toBe('CREATE');
    await expect(write(['--format', 'sql', '--output', 'no/new/schema.sql'], sql)).resolves.toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('the folder of no/new/schema.sql does not exist') as string,
    });
  });

  it('replaces no database and nothing of the state, also with --force', async () => {
    const sql = { format: 'sql' as const, streams: ['a'], files: [{ stream: undefined, text: 'CREATE' }] };
    writeFileSync(join(folder, 'other.duckdb'), 'DUCK\0');
    const over = await write(['--format', 'sql', '--output', 'other.duckdb', '--force'], sql);
    expect(over).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('other.duckdb exists and is not a text file') as string,
    });
    expect(readFileSync(join(folder, 'other.duckdb'), 'utf8')).toBe('DUCK\0');
    const state = await write(['--format', 'sql', '--output', '/data/.sluice/x.sql', '--force'], sql);
    expect(state).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('is inside the state folder') as string,
    });
  });

  it.skipIf(process.platform === 'win32')('does not ask for --force to write to a pipe', async () => {
    const sql = { format: 'sql' as const, streams: ['a'], files: [{ stream: undefined, text: 'CREATE' }] };
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    await expect(write(['--format', 'sql', '--output', 'pipe'], sql)).resolves.toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('no program reads from pipe') as string,
    });
  });
});
