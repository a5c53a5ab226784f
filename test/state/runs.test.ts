import { describe, expect, it } from 'vitest';
import { purgeHistory, writeRun, writeStreamRun } from '../../state/runs.ts';
import { openMigratedDatabase } from '../support/temp-database.ts';
import { makeReport } from '../support/fixtures.ts';
import { makeRun } from './make-run.ts';

describe('writeRun', () => {
  it('writes every column of a run', async () => {
    const { database } = await openMigratedDatabase();
    await writeRun(database, makeRun({ waitedMs: 12.6 }));
    expect(await database.all('SELECT * FROM _sluice.runs')).toEqual([
      {
        run_id: 'run-1',
        started_at: new Date('2026-01-31T12:00:00Z'),
        finished_at: new Date('2026-01-31T12:00:05Z'),
        status: 'complete',
        exit_code: 0,
        requests: 12n,
        retries: 1n,
        waited_ms: 13n,
        rows_read: 10n,
        rows_inserted: 1n,
        rows_updated: 2n,
        rows_unchanged: 7n,
        rows_deleted: 4n,
        rows_quarantined: 5n,
        version: '0.1.0',
      },
    ]);
  });

  it('replaces the row of the same run and of no other', async () => {
    const { database } = await openMigratedDatabase();
    await writeRun(database, makeRun());
    await writeRun(database, makeRun({ runId: 'run-2' }));
    await writeRun(database, makeRun({ status: 'failed', exitCode: 4 }));
    expect(await database.all('SELECT run_id, status, exit_code FROM _sluice.runs ORDER BY run_id')).toEqual([
      { run_id: 'run-1', status: 'failed', exit_code: 4 },
      { run_id: 'run-2', status: 'complete', exit_code: 0 },
    ]);
  });
});

describe('writeStreamRun', () => {
  it('writes what became of a stream, and its schema changes', async () => {
    const { database } = await openMigratedDatabase();
    const report = makeReport({
      verdict: undefined,
      rowsDeclared: undefined,
      rescans: 2,
      schemaChanges: [
        { column: 'a', change: 'added', fromType: undefined, toType: 'BIGINT' },
        { column: 'b', change: 'widened', fromType: 'BIGINT', toType: 'VARCHAR' },
      ],
    });
    await writeStreamRun(database, 'run-1', report);
    await writeStreamRun(database, 'run-1', {
      ...report,
      status: 'failed',
      verdict: 'drifted',
      schemaChanges: [],
    });
    expect(await database.all('SELECT * FROM _sluice.stream_runs')).toEqual([
      {
        run_id: 'run-1',
        stream: 'items',
        slice: '',
        status: 'failed',
        verdict: 'drifted',
        rows_declared: null,
        rows_read: 1_000n,
        pages: 11n,
        requests: 12n,
        rescans: 2n,
        started_at: new Date('2026-01-31T12:00:00Z'),
        finished_at: new Date('2026-01-31T12:00:05Z'),
        mode: report.mode,
        reasons: JSON.stringify(report.reasons),
        rows_inserted: BigInt(report.rows.inserted),
        rows_updated: BigInt(report.rows.updated),
        rows_unchanged: BigInt(report.rows.unchanged),
        rows_deleted: BigInt(report.rows.deleted),
        rows_quarantined: BigInt(report.rows.quarantined),
        rows_in_api: null,
        rows_in_table: BigInt(report.rowsInTable ?? 0),
        difference: null,
      },
    ]);
    expect(
      await database.all(
        'SELECT column_name, change, from_type, to_type FROM _sluice.schema_changes ORDER BY 1',
      ),
    ).toEqual([
      { column_name: 'a', change: 'added', from_type: null, to_type: 'BIGINT' },
      { column_name: 'b', change: 'widened', from_type: 'BIGINT', to_type: 'VARCHAR' },
    ]);
  });
});

describe('purgeHistory', () => {
  it('forgets what is older than its retention, and nothing else', async () => {
    const { database } = await openMigratedDatabase();
    const days = ['2026-01-01', '2026-01-15', '2026-01-31'];
    for (const day of days) {
      const startedAt = `${day}T00:00:00.000Z`;
      await writeRun(database, makeRun({ runId: day, startedAt }));
      await writeStreamRun(database, day, makeReport({ startedAt }));
      await database.run(
        `INSERT INTO _sluice.quarantine VALUES ($1, 'items', '', 0, 0, 'x', '', '1', $2::TIMESTAMPTZ, NULL)`,
        [day, startedAt],
      );
    }
    await purgeHistory(database, { runs: '2026-01-15T00:00:00Z', quarantine: '2026-01-20T00:00:00Z' });
    const left = async (table: string) =>
      (await database.all(`SELECT run_id FROM _sluice.${table} ORDER BY 1`)).map(({ run_id }) => run_id);
    expect(await left('runs')).toEqual(days.slice(1));
    expect(await left('stream_runs')).toEqual(days.slice(1));
    expect(await left('quarantine')).toEqual(days.slice(2));
  });
});
