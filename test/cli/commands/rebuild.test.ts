import { describe, expect, it } from 'vitest';
import type { RebuildReport, RebuiltStream } from '../../../src/model/reports.ts';
import { run } from '../support/capture.ts';

const items: RebuiltStream = {
  stream: 'items',
  status: 'rebuilt',
  scans: 3,
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-11-20T00:00:00.000Z',
  records: 1_260,
  rowsBefore: 1_200,
  rowsAfter: 1_199,
  rowsKept: 4,
  rowsQuarantined: 1,
  schemaChanges: [{ column: 'amount', change: 'replaced', fromType: 'BIGINT', toType: 'VARCHAR' }],
  notes: [],
  error: undefined,
};

const report: RebuildReport = {
  dryRun: false,
  runId: 'run-9',
  exitCode: 0,
  streams: [items],
  warnings: [],
  published: { path: '/data/warehouse.duckdb', bytes: 4_200_000 },
  error: undefined,
};

const engineWith = (answer: RebuildReport) => ({ rebuildStreams: () => Promise.resolve(answer) });

describe('rebuild', () => {
  it('needs no key and shows what became of each stream', async () => {
    const { exitCode, stdout, calls } = await run(['rebuild', 'items', '--archived-only'], {
      engine: engineWith(report),
    });
    expect(exitCode).toBe(0);
    expect(calls.map(({ name }) => name)).toEqual(['loadOfflineSettings', 'rebuildStreams', 'settleRefusal']);
    expect(calls[2]?.arguments[1]).toEqual(['state_damaged']);
    expect(calls[1]?.arguments[1]).toMatchObject({ streams: ['items'], archivedOnly: true });
    expect(stdout).toMatch(/items +rebuilt +3 +2026-11-01 +1,260 +1,200 +1,199\n/);
    expect(stdout).toContain(
      'items: 4 rows that the archive no longer holds were kept; 1 record in quarantine; amount is now VARCHAR (was BIGINT)',
    );
    expect(stdout).toContain(
      '1 stream rebuilt, no request spent. Published: /data/warehouse.duckdb (4.2 MB).',
    );
  });

  it('shows why a stream was refused', async () => {
    const error = {
      code: 'archive_incomplete',
      message: 'items: its table cannot be rebuilt from the archive: nothing of it is archived',
      hint: 'The table is unchanged.',
      exitCode: 6,
    } as const;
    const failed: RebuildReport = {
      ...report,
      exitCode: 6,
      streams: [{ ...items, status: 'failed', error }],
      published: undefined,
    };
    const { exitCode, stdout } = await run(['rebuild'], { engine: engineWith(failed) });
    expect(exitCode).toBe(6);
    expect(stdout).toContain('items failed: its table cannot be rebuilt from the archive');
    expect(stdout).toContain('next: The table is unchanged.');
    const json = await run(['rebuild', '--json'], { engine: engineWith(failed) });
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, error: { code: 'archive_incomplete' } });
  });

  it('says once what ended it, whether a stream has the same error or not', async () => {
    const error = {
      code: 'storage_failed',
      message: 'the disk is full',
      hint: 'Free some space.',
      exitCode: 6,
    } as const;
    for (const own of [error, undefined]) {
      const streams = [{ ...items, status: 'failed', error: own } as const];
      const ended: RebuildReport = { ...report, exitCode: 6, streams, published: undefined, error };
      const { stdout } = await run(['rebuild'], { engine: engineWith(ended) });
      expect(stdout.match(/the disk is full\n {2}next: Free some space\./g)).toHaveLength(1);
      expect(stdout).toMatch(/\nThe rebuild did not finish\.\n$/);
    }
  });

  it('says what a dry run would load', async () => {
    const planned: RebuildReport = {
      ...report,
      dryRun: true,
      streams: [{ ...items, status: 'planned', schemaChanges: [], rowsKept: 0, rowsQuarantined: 0 }],
      published: undefined,
    };
    const { stdout, calls } = await run(['rebuild', '--dry-run'], { engine: engineWith(planned) });
    expect(calls[1]?.arguments[1]).toMatchObject({ dryRun: true });
    expect(stdout).toMatch(/items +can be rebuilt +3 +2026-11-01 +1,260\n/);
    expect(stdout).toContain('1 stream can be rebuilt.');
  });

  it.each([40, 60, 80])('fits a terminal %i wide', async (columns) => {
    const { stdout } = await run(['rebuild'], { columns, engine: engineWith(report) });
    expect(stdout.split('\n').filter((line) => line.length > columns)).toEqual([]);
  });
});
