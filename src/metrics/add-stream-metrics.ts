import { Counter, Gauge, type Registry } from 'prom-client';
import type { RowTotals } from '../../state/run-totals.ts';
import type { StreamStatusRow } from '../model/reports.ts';
import { verdicts } from '../model/run-report.ts';
import type { MetricFacts } from './metric-facts.ts';

const labelNames = ['stream', 'slice'];

/** Metrics of streams and slices. */
export function addStreamMetrics(registry: Registry, { status, totals }: MetricFacts): void {
  if (status !== undefined) addState(registry, status.streams);
  if (totals !== undefined) addRows(registry, totals.streams);
}

function addState(registry: Registry, streams: readonly StreamStatusRow[]): void {
  const add = (name: string, help: string, pick: (row: StreamStatusRow) => number | undefined) => {
    const gauge = new Gauge({ name, help, labelNames, registers: [registry] });
    for (const row of streams) {
      const value = pick(row);
      // What is not known has no series: a 0 would be a date of 1970.
      if (value !== undefined && Number.isFinite(value))
        gauge.set({ stream: row.stream, slice: row.slice }, value);
    }
  };
  add(
    'sluice_stream_verified_timestamp_seconds',
    'When the last verified scan of the stream began: its data is at least as fresh as that.',
    ({ verifiedAt }) => (verifiedAt === undefined ? undefined : Date.parse(verifiedAt) / 1_000),
  );
  add(
    'sluice_stream_watermark_timestamp_seconds',
    'The date up to which the stream was read, as midnight UTC.',
    ({ watermark }) => (watermark === undefined ? undefined : Date.parse(watermark) / 1_000),
  );
  add(
    'sluice_stream_newest_data_timestamp_seconds',
    'When the first row of the newest date came: since then syncs have found nothing newer.',
    ({ newest }) => (newest === undefined ? undefined : Date.parse(newest.since) / 1_000),
  );
  add(
    'sluice_stream_data_stale',
    '1 if syncs have found nothing newer for longer than usual, else 0.',
    ({ newest }) => (newest === undefined ? undefined : Number(newest.stale)),
  );
  add(
    'sluice_stream_api_rows',
    'Rows the API counted when the stream was last compared with it.',
    ({ counts }) => counts?.inApi,
  );
  add(
    'sluice_stream_rows_difference',
    'Rows the API has and the table lacks; below 0: rows of the table that the API does not have.',
    ({ counts }) => counts?.difference,
  );
  add(
    'sluice_stream_full_refresh_due',
    '1 if the stream should be read in full soon, else 0.',
    ({ fullRefreshDue }) => Number(fullRefreshDue !== undefined),
  );
  add('sluice_stream_rows', 'Rows in the published table, or of the slice in it.', ({ rows }) => rows);
  const gauge = new Gauge({
    name: 'sluice_stream_verdict',
    help: '1 for the verdict of the last scan, 0 for the others.',
    labelNames: [...labelNames, 'verdict'],
    registers: [registry],
  });
  for (const { stream, slice, verdict } of streams) {
    if (verdict === undefined) continue;
    for (const name of verdicts) gauge.set({ stream, slice, verdict: name }, name === verdict ? 1 : 0);
  }
}

function addRows(registry: Registry, streams: readonly RowTotals[]): void {
  const add = (name: string, help: string, pick: (row: RowTotals) => number) => {
    const counter = new Counter({ name, help, labelNames, registers: [registry] });
    for (const row of streams) counter.inc({ stream: row.stream, slice: row.slice }, pick(row));
  };
  add('sluice_rows_read_total', 'Records read.', ({ read }) => read);
  add('sluice_rows_inserted_total', 'Rows that were new.', ({ inserted }) => inserted);
  add('sluice_rows_updated_total', 'Rows that had changed.', ({ updated }) => updated);
  add('sluice_rows_deleted_total', 'Rows deleted or marked as deleted.', ({ deleted }) => deleted);
  add('sluice_rows_quarantined_total', 'Records put into quarantine.', ({ quarantined }) => quarantined);
}
