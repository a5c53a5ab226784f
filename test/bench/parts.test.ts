import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parts } from '../../bench/parts/parts.ts';
import { type Build, sources } from '../../bench/support/build.ts';
import { measure } from '../../bench/support/children.ts';
import { writeFinding } from '../../bench/support/finding.ts';
import { makeLargeTable } from '../../bench/support/large-table.ts';
import { cliEntry } from '../support/cli-entry.ts';
import { explainMissing } from '../support/lake-servers.ts';
import { hasTurn } from '../support/seeds.ts';
import { makeTempFolder } from '../support/temp-folder.ts';

// That each part runs to its end and fills its table: what it measures depends on the machine, and is not checked.
const build: Build = { ...sources, cli: cliEntry };

/** Rows of each part's first table at a size that takes little time. */
const small: Readonly<
  Record<string, { readonly size: number; readonly repeats?: number; readonly rows: number }>
> = {
  'end-to-end': { size: 300, rows: 6 },
  publishing: { size: 1_000, rows: 3 },
  lakehouses: { size: 1_000, rows: explainMissing() === undefined ? 10 : 1 },
  'lake-requests': { size: 200, rows: explainMissing() === undefined ? 9 : 1 },
  'lake-year': { size: 3, rows: explainMissing() === undefined ? 4 : 1 },
  restatement: { size: 1, rows: 3 },
  memory: { size: 1, rows: process.platform === 'linux' ? 3 : 2 },
  quota: { size: 1, repeats: 2, rows: 3 },
  accounts: { size: 2, rows: 5 },
  fleet: { size: 2, rows: 4 },
  year: { size: 3, rows: 4 },
  start: { size: 1, rows: 5 },
};

// Some fifty processes compile the same sources.
const cache = mkdtempSync(join(tmpdir(), 'sluice-bench-cache-'));
beforeAll(() => {
  vi.stubEnv('NODE_COMPILE_CACHE', cache);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(cache, { recursive: true });
});

describe('the benchmarks', () => {
  it('are all tried here', () => {
    // Other tools are installed and run by the interop proof.
    expect(Object.keys(small)).toEqual(Object.keys(parts).filter((name) => name !== 'peers'));
  });

  // Of those that take longest, a proof tries every second one.
  const slow = ['lakehouses', 'fleet', 'lake-requests', 'accounts', 'lake-year', 'restatement'];
  const tried = Object.entries(small).filter(([name]) => !slow.includes(name) || hasTurn(slow.indexOf(name)));
  it.each(tried)('%s: fills its table', async (name, { size, repeats = 1, rows }) => {
    const folder = makeTempFolder();
    const findings = (await parts[name]?.({ size, folder, repeats, build, say: () => undefined })) ?? [];
    expect(findings[0]?.rows).toHaveLength(rows);
    for (const finding of findings) {
      expect(finding.rows.filter((row) => row.length !== finding.head.length)).toEqual([]);
      // A number that was not measured, or was divided by one.
      expect(writeFinding(finding)).not.toMatch(/NaN|Infinity|undefined|killed|exit \d/);
    }
  });

  it('fill a large table with what a sync would have made of the records', async () => {
    const folder = makeTempFolder();
    const stream = { key: ['id', 'date'], cursor: { field: 'date', param: 'startDate', lookback: '1d' } };
    const pages = await makeLargeTable(build, folder, 110_000, stream);
    try {
      const sync = async (version: number) => {
        await pages.tell({ mode: 'recent', version });
        return measure(build.script('sync-once'), [pages.origin, folder, '100', JSON.stringify({ stream })]);
      };
      // The newest thousand came by a sync, the others of their days by SQL.
      expect(await sync(0)).toMatchObject({ rows: 1_100, changed: 0 });
      expect(await sync(1)).toMatchObject({ rows: 1_100, changed: 1_100 });
    } finally {
      pages.stop();
    }
  });
});
