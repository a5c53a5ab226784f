import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { StreamReport } from '../../src/model/run-report.ts';
import { appendRunFile, beginRunFile, readRunFile, writeFileAtomically } from '../../state/run-file.ts';
import { measureSpare, writeIntoSpare } from '../../state/spare-file.ts';
import { makeTempFolder } from '../support/temp-folder.ts';
import { makeRun } from './make-run.ts';

/** What a run did for one stream, as far as the file checks it. */
function makeStreamRun() {
  const { startedAt, finishedAt, rows } = makeRun();
  return { stream: 'items', slice: '', status: 'complete', startedAt, finishedAt, rows, reasons: ['x'] };
}

/** A report without the members that JSON leaves out. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

describe('the run file', () => {
  it('holds the last runs, newest first, each once', () => {
    const folder = makeTempFolder();
    expect(readRunFile(folder)).toEqual([]);
    appendRunFile(folder, makeRun());
    appendRunFile(folder, makeRun({ runId: 'run-2' }));
    appendRunFile(folder, makeRun({ exitCode: 4 }));
    expect(readRunFile(folder).map(({ runId, exitCode }) => [runId, exitCode])).toEqual([
      ['run-1', 4],
      ['run-2', 0],
    ]);
    expect(readRunFile(folder)[1]).toEqual(plain(makeRun({ runId: 'run-2' })));
  });

  it('holds fifty', () => {
    const folder = makeTempFolder();
    for (let n = 0; n < 55; n += 1) appendRunFile(folder, makeRun({ runId: `run-${n}` }));
    const ids = readRunFile(folder).map(({ runId }) => runId);
    expect([ids.length, ids[0], ids.at(-1)]).toEqual([50, 'run-54', 'run-5']);
  });

  it('belongs to its owner only, and leaves no other file behind', () => {
    const folder = makeTempFolder();
    appendRunFile(folder, makeRun());
    expect(readdirSync(folder)).toEqual(['runs.json']);
    expect(statSync(join(folder, 'runs.json')).mode & 0o777).toBe(0o600);
  });

  it.each([
    '',
    '{',
    'null',
    '5',
    '[]',
    '{"version":1}',
    '{"version":1,"runs":{}}',
    '{"version":2,"runs":[]}',
    '\u0000\u0001',
  ])('counts as no history when it reads %j, and is rewritten', (text) => {
    const folder = makeTempFolder();
    writeFileSync(join(folder, 'runs.json'), text);
    expect(readRunFile(folder)).toEqual([]);
    appendRunFile(folder, makeRun());
    expect(readRunFile(folder)).toHaveLength(1);
  });

  it('with any of its bits flipped counts as no history, or is as it was', () => {
    const folder = makeTempFolder();
    const file = join(folder, 'runs.json');
    appendRunFile(folder, { ...makeRun(), streams: [makeStreamRun() as unknown as StreamReport] });
    const whole = readRunFile(folder);
    const bytes = readFileSync(file);
    const answers = Array.from({ length: bytes.length * 8 }, (_, bit) => {
      const damaged = Buffer.from(bytes);
      damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
      writeFileSync(file, damaged);
      return JSON.stringify(readRunFile(folder));
    });
    expect(new Set(answers)).toEqual(new Set(['[]', JSON.stringify(whole)]));
  });

  it('of an earlier version is read without a checksum, but for runs that no table could hold', () => {
    const folder = makeTempFolder();
    const damaged = [
      { finishedAt: undefined },
      { startedAt: '2026-01-31T12:00:00.000[' },
      { requests: '1p' },
      { rows: { ...makeRun().rows, read: null } },
      { streams: [{ ...makeStreamRun(), finishedAt: 'soon' }] },
    ].map((parts) => ({ ...makeRun(), ...parts }));
    const runs = [...damaged, makeRun({ runId: 'run-2' })];
    writeFileSync(join(folder, 'runs.json'), JSON.stringify({ version: 1, runs }));
    expect(readRunFile(folder).map(({ runId }) => runId)).toEqual(['run-2']);
  });

  it('drops entries that are not runs and keeps the others', () => {
    const folder = makeTempFolder();
    const broken = [{ streams: undefined }, { streams: [null] }].map((parts) => ({ ...makeRun(), ...parts }));
    const runs = [null, 5, 'run', [], {}, { runId: 1 }, { runId: 'x', startedAt: 'y' }, ...broken, makeRun()];
    writeFileSync(join(folder, 'runs.json'), JSON.stringify({ version: 1, runs }));
    expect(readRunFile(folder)).toEqual([plain(makeRun())]);
    appendRunFile(folder, makeRun({ runId: 'run-2' }));
    expect(readRunFile(folder).map(({ runId }) => runId)).toEqual(['run-2', 'run-1']);
  });
});

describe('the space to record an end on a full disk', () => {
  it('is kept by a run that begins, and takes the newest runs that fit', () => {
    const folder = makeTempFolder();
    const file = join(folder, 'runs.json');
    beginRunFile(folder, makeRun());
    const size = measureSpare(file);
    expect(size).toBeGreaterThan(statSync(file).size + 30_000);
    expect(statSync(`${file}.spare`).mode & 0o777).toBe(0o600);
    const before = statSync(`${file}.spare`).mtimeMs;
    beginRunFile(folder, makeRun());
    expect(statSync(`${file}.spare`).mtimeMs).toBe(before);
    writeIntoSpare(file, '{"version":1,"runs":[]}');
    expect([statSync(file).size, measureSpare(file)]).toEqual([size, 0]);
    expect(readRunFile(folder)).toEqual([]);
  });
});

describe('writeFileAtomically', () => {
  it('replaces a file whole, and leaves it as it was when it cannot', () => {
    const folder = makeTempFolder();
    const file = join(folder, 'x.json');
    writeFileAtomically(file, 'one');
    writeFileAtomically(file, 'é'.repeat(1_000_000));
    expect(readFileSync(file, 'utf8')).toBe('é'.repeat(1_000_000));
    // A folder in the way of the temporary file.
    mkdirSync(`${file}.tmp`);
    expect(() => {
      writeFileAtomically(file, 'three');
    }).toThrow('EISDIR');
    expect(readFileSync(file, 'utf8')).toHaveLength(1_000_000);
  });
});
