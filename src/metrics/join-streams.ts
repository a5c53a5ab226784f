import type { RowTotals, RunTotals } from '../../state/run-totals.ts';
import type { StreamStatusRow } from '../model/reports.ts';
import type { Verdict } from '../model/run-report.ts';
import type { MetricFacts } from './metric-facts.ts';

// From the worst, which is what an alarm has to see.
const VERDICTS: readonly Verdict[] = ['partial', 'drifted', 'unverified', 'verified'];

/**
 * The same facts with all streams as one: sums of rows, and of times and verdicts the worst. Its name is empty, which
 * to Prometheus is the same as no label.
 */
export function joinStreams(facts: MetricFacts): MetricFacts {
  const { status, totals } = facts;
  return {
    ...facts,
    status: status && { ...status, streams: joinRows(status.streams) },
    totals: totals && { ...totals, streams: joinTotals(totals) },
  };
}

function joinRows(rows: readonly StreamStatusRow[]): readonly StreamStatusRow[] {
  const [first] = rows;
  if (first === undefined) return [];
  // What is not known of one is not known of all: an alarm must not take silence for freshness.
  const oldest = (times: readonly (string | undefined)[]) =>
    times.includes(undefined) ? undefined : times.toSorted()[0];
  const newest = rows.flatMap((row) => row.newest ?? []);
  const counts = rows.flatMap((row) => row.counts ?? []);
  const [stalest] = newest.toSorted((a, b) => (a.since < b.since ? -1 : 1));
  const [counted] = counts;
  return [
    {
      ...first,
      stream: '',
      slice: '',
      verdict: VERDICTS.find((verdict) => rows.some((row) => row.verdict === verdict)),
      rows: addUp(rows.flatMap((row) => row.rows ?? [])),
      verifiedAt: oldest(rows.map(({ verifiedAt }) => verifiedAt)),
      watermark: oldest(rows.flatMap(({ watermark }) => watermark ?? [])),
      newest: stalest && { ...stalest, stale: newest.some(({ stale }) => stale) },
      counts: counted && {
        ...counted,
        inApi: addUp(counts.flatMap((one) => one.inApi ?? [])),
        // A row too many here does not make up for one that is missing there.
        difference: counts.reduce((sum, one) => sum + Math.abs(one.difference), 0),
      },
      fullRefreshDue: rows.find((row) => row.fullRefreshDue !== undefined)?.fullRefreshDue,
    },
  ];
}

/** What nobody knows has no sum. */
function addUp(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : numbers.reduce((sum, one) => sum + one, 0);
}

function joinTotals({ streams }: RunTotals): RunTotals['streams'] {
  const sum = (key: 'read' | 'inserted' | 'updated' | 'deleted' | 'quarantined') =>
    streams.reduce((all, one) => all + one[key], 0);
  const joined: RowTotals = {
    stream: '',
    slice: '',
    read: sum('read'),
    inserted: sum('inserted'),
    updated: sum('updated'),
    deleted: sum('deleted'),
    quarantined: sum('quarantined'),
  };
  return [joined];
}
