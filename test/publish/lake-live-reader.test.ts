import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/model/clock.ts';
import { openLakeWriter } from '../support/lake-writer.ts';
import { globOf } from '../support/read-lake.ts';

const DAYS = 12;
const PUBLISHES = 6;

interface Answer {
  readonly versions: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
}

/** Reads a pattern again and again in a process of its own, until its input ends. */
async function startReader(from: string) {
  const script = join(import.meta.dirname, '..', 'support', 'lake-reader-child.ts');
  const child = spawn(process.execPath, [script, from], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  await once(lines, 'line');
  return {
    async stop(): Promise<Answer> {
      const answered = once(lines, 'line');
      child.stdin.end();
      const [text] = (await answered) as [string];
      return JSON.parse(text) as Answer;
    },
  };
}

describe('a program that reads the plain pattern while a lake is published', () => {
  it('sees one version at a time, whole, without repeats', async () => {
    const writer = await openLakeWriter('date', systemClock);
    const { database } = writer;
    await database.run(
      `INSERT INTO main.items SELECT i, DATE '2026-01-01' + (i % ${DAYS})::INTEGER, 0 FROM range(1200) r(i)`,
    );
    await writer.publish();
    // Every row of a version says which one it is; a version has a folder more than the one before.
    const known = new Set(['0 0 1200']);
    const reader = await startReader(
      `SELECT min(amount) || ' ' || max(amount) || ' ' || count(*) AS version, count(DISTINCT id) AS ids FROM ${globOf(writer.lake)}`,
    );
    let total = 1_200;
    for (let version = 1; version <= PUBLISHES; version += 1) {
      await database.run('UPDATE main.items SET amount = $1', [version]);
      if (version % 3 === 0) {
        await database.run(
          `INSERT INTO main.items SELECT ${total} + i, DATE '2026-03-01' + ${version}, ${version} FROM range(100) r(i)`,
        );
        total += 100;
      }
      known.add(`${version} ${version} ${total}`);
      await writer.publish();
    }
    const { versions, errors } = await reader.stop();
    expect(Object.keys(versions).filter((one) => !known.has(one))).toEqual([]);
    expect(Object.keys(versions).length).toBeGreaterThan(1);
    const reads = Object.values(versions).reduce((sum, count) => sum + count, 0);
    const failed = Object.values(errors).reduce((sum, count) => sum + count, 0);
    // Between listing and opening a file may leave `current`: the reader gets an error, which is rare.
    expect(Object.keys(errors).filter((message) => !/No such file|No files found/.test(message))).toEqual([]);
    expect(failed).toBeLessThan(reads);
  });
});
