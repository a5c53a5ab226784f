import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { publishCombined } from '../../src/accounts/combined-file.ts';
import { writeAccountFile } from '../support/account-files.ts';
import { queryCopy } from '../support/published.ts';
import { startNode } from '../support/run-node.ts';
import { makeFolder } from '../support/sync-harness.ts';

const KILLS = 8;
const ROWS = 50_000;

describe('a process that combines accounts and is killed', () => {
  it('leaves a whole file and nothing that grows', async () => {
    const folder = makeFolder();
    const accounts = [];
    for (const name of ['a', 'b', 'c']) {
      const rows = `CREATE TABLE t AS SELECT i, hash(i) AS h FROM range(${ROWS}) r(i)`;
      accounts.push(await writeAccountFile(folder, name, rows));
    }
    const out = join(folder, 'out');
    // A kill may come before the process makes it.
    mkdirSync(out);
    const file = join(out, 'all.duckdb');
    const script = join(import.meta.dirname, '..', 'support', 'combine-child.ts');
    for (let kill = 0; kill < KILLS; kill += 1) {
      const child = startNode(script, [file, ...accounts.map(({ readersFile }) => readersFile)]);
      const exited = once(child, 'exit');
      await once(child.stdout ?? child, 'data');
      await wait(50 + kill * 60);
      child.kill('SIGKILL');
      await exited;
      if (existsSync(file)) {
        const { rows } = await queryCopy(
          file,
          'SELECT account, count(*) AS n, count(h) AS h FROM t GROUP BY 1 ORDER BY 1',
        );
        expect(rows).toHaveLength(2);
        expect(rows.every(({ n, h }) => n === ROWS && h === ROWS)).toBe(true);
      }
      // What one killed process left, with its lock.
      expect(readdirSync(out).filter((name) => name.endsWith('.tmp')).length).toBeLessThanOrEqual(1);
    }
    expect(await publishCombined({ file, accounts })).toMatchObject({ isReplaced: true });
    expect(readdirSync(out)).toEqual(['all.duckdb']);
  });
});
